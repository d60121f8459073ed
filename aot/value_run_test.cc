// Programs with control flow through their C interface, on CPUs and on an emulated GPU: values,
// shape variables, limits and memory.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "aot/cuda/testing.h"

namespace relay::aot {
namespace {

enum class On { kCpu, kGpu };
std::string name_of(const testing::TestParamInfo<On>& on) { return on.param == On::kCpu ? "cpu" : "gpu"; }

const Compiled& compiled(std::string_view program, On on) {
  static std::map<std::pair<std::string_view, On>, std::unique_ptr<Compiled>> all;
  std::unique_ptr<Compiled>& out = all[{program, on}];
  if (!out && on == On::kCpu) out = std::make_unique<Compiled>(program);
  if (!out && on == On::kGpu) out = std::make_unique<cuda::Emulated>(program);
  return *out;
}

// Doubles the elements of each tensor of a list and counts them.
constexpr std::string_view kLists = R"(
type List[A] { Cons(A, List[A]), Nil }
def @count(%l: List[Tensor[(2), float32]], %n: int32) -> int32 {
  match (%l) { Nil => %n, Cons(_, %t) => @count(%t, add(%n, 1)) }
}
def @twice(%l: List[Tensor[(2), float32]]) -> List[Tensor[(2), float32]] {
  match (%l) { Nil => Nil, Cons(%h, %t) => Cons(add(%h, %h), @twice(%t)) }
}
def @main(%l: List[Tensor[(2), float32]], %p: (Tensor[(n), float32], Tensor[(n, 3), float32])) {
  (@twice(%l), @count(%l, 0), multiply(reshape(%p.0, newshape=[n, 1]), %p.1))
}
)";

// How far it counts is in the data; every number goes through a reference that ends in a cycle.
constexpr std::string_view kLoop = R"(
def @sum(%x: Tensor[(n), float32], %i: int32, %r: ref(Tensor[(n), float32])) -> Tensor[(n), float32] {
  if (less_equal(%i, 0)) { ref_read(%r) } else {
    ref_write(%r, add(ref_read(%r), %x));
    @sum(%x, subtract(%i, 1), %r)
  }
}
def @deep(%i: int32) -> int32 { if (less_equal(%i, 0)) { 0 } else { add(1, @deep(subtract(%i, 1))) } }
def @main(%x: Tensor[(n), float32], %i: int32, %j: int32) {
  let %cycle = ref(fn () { 1 });
  ref_write(%cycle, fn () { ref_read(%cycle)() });
  (@sum(%x, %i, ref(%x)), @deep(%j))
}
)";

// A tensor of float32 or int32 with its own memory.
template <class T>
struct Array {
  std::vector<T> data;
  std::vector<int64_t> shape;
  DLTensor tensor() {
    const uint8_t code = std::is_floating_point_v<T> ? kDLFloat : kDLInt;
    return {data.data(),
            {kDLCPU, 0},
            static_cast<int32_t>(shape.size()),
            {code, 32, 1},
            shape.data(),
            nullptr,
            0};
  }
};

// Calls that make, look at and free values, which must go well.
struct ValueSession : Session {
  using Session::Session;
  std::vector<relay_value*> made;
  ~ValueSession() {
    for (relay_value* v : made) api->value_free(context, v);
  }

  relay_value* keep(relay_status done, relay_value* v) {
    EXPECT_EQ(done, RELAY_OK) << said();
    if (v) made.push_back(v);
    return v;
  }
  template <class T>
  relay_value* tensor(uint32_t type, Array<T> a) {
    const DLTensor t = a.tensor();
    relay_value* v = nullptr;
    const relay_status done = api->value_tensor(context, type, &t, &v);
    return keep(done, v);
  }
  relay_value* node(uint32_t type, uint32_t constructor, std::vector<relay_value*> fields) {
    relay_value* v = nullptr;
    const relay_status done = api->value_node(context, type, constructor, fields.data(), fields.size(), &v);
    return keep(done, v);
  }
  relay_value* field(relay_value* of, size_t i) {
    relay_value* v = nullptr;
    const relay_status done = api->value_field(context, of, i, &v);
    return keep(done, v);
  }
  relay_value_view look(relay_value* v) {
    relay_value_view view = {};
    view.struct_size = sizeof view;
    EXPECT_EQ(api->value_look(context, v, &view), RELAY_OK) << said();
    return view;
  }
  std::vector<float> floats(relay_value* v) {
    const DLTensor t = look(v).tensor;
    int64_t count = 1;
    for (int32_t d = 0; d < t.ndim; ++d) count *= t.shape[d];
    const float* data = static_cast<const float*>(t.data);
    return {data, data + count};
  }
};

// Numbers of types, as the description gives them.
struct Types {
  uint32_t list, element, pair, vector, matrix;

  explicit Types(const Session& s) {
    const auto d = nlohmann::json::parse(s.api->model_describe(s.model));
    list = d["parameters"][0]["type"], pair = d["parameters"][1]["type"];
    element = d["types"][list]["constructors"][0]["fields"][0];
    vector = d["types"][pair]["fields"][0], matrix = d["types"][pair]["fields"][1];
  }
};

struct ListCall : ValueSession {
  Types types{*this};
  using ValueSession::ValueSession;
  relay_value* list(size_t count) {
    relay_value* out = node(types.list, 1, {});
    for (size_t i = 0; i < count; ++i) {
      const auto x = static_cast<float>(i);
      out = node(types.list, 0, {tensor<float>(types.element, {{x, -x}, {2}}), out});
    }
    return out;
  }
  relay_value* pair(int64_t n, int64_t m) {
    return node(types.pair, 0,
                {tensor<float>(types.vector, {std::vector<float>(static_cast<size_t>(n), 2), {n}}),
                 tensor<float>(types.matrix, {std::vector<float>(static_cast<size_t>(m * 3), 5), {m, 3}})});
  }
  relay_status call(std::vector<relay_value*> args, relay_value** result) {
    const relay_status done = api->call(context, args.data(), args.size(), result);
    if (*result) made.push_back(*result);
    return done;
  }
};

class Values : public testing::TestWithParam<On> {};
class ValueRuns : public testing::TestWithParam<On> {};
INSTANTIATE_TEST_SUITE_P(, Values, testing::Values(On::kCpu, On::kGpu), name_of);
INSTANTIATE_TEST_SUITE_P(, ValueRuns, testing::Values(On::kCpu, On::kGpu), name_of);

TEST_P(Values, ListsAndTuplesGoInAndOut) {
  ListCall s(compiled(kLists, GetParam()));
  relay_value* result = nullptr;
  ASSERT_EQ(s.call({s.list(3), s.pair(4, 4)}, &result), RELAY_OK) << s.said();
  const relay_value_view view = s.look(result);
  EXPECT_EQ(view.kind, static_cast<uint32_t>(RELAY_VALUE_TUPLE));
  ASSERT_EQ(view.field_count, 3u);
  relay_value* rest = s.field(result, 0);
  for (float i = 2; i >= 0; --i) {
    ASSERT_EQ(s.look(rest).constructor, 0u);
    EXPECT_EQ(s.floats(s.field(rest, 0)), (std::vector<float>{2 * i, -2 * i}));
    rest = s.field(rest, 1);
  }
  EXPECT_EQ(s.look(rest).constructor, 1u);
  EXPECT_EQ(s.look(rest).field_count, 0u);
  EXPECT_EQ(*static_cast<const int32_t*>(s.look(s.field(result, 1)).tensor.data), 3);
  const DLTensor product = s.look(s.field(result, 2)).tensor;
  ASSERT_EQ(product.ndim, 2);
  EXPECT_EQ(product.shape[0], 4);
  EXPECT_EQ(s.floats(s.field(result, 2)), std::vector<float>(12, 10));
}

// A value lives until it is freed, whatever runs meanwhile, and what was made from it lives on.
TEST_P(Values, LiveUntilTheyAreFreed) {
  ListCall s(compiled(kLists, GetParam()));
  relay_value *first = nullptr, *second = nullptr;
  ASSERT_EQ(s.call({s.list(2), s.pair(1, 1)}, &first), RELAY_OK) << s.said();
  relay_value* again = nullptr;
  ASSERT_EQ(s.api->value_field(s.context, first, 0, &again), RELAY_OK);
  ASSERT_EQ(s.call({again, s.pair(1, 1)}, &second), RELAY_OK) << s.said();
  s.api->value_free(s.context, again);
  EXPECT_EQ(s.floats(s.field(s.field(first, 0), 0)), (std::vector<float>{2, -2}));
  EXPECT_EQ(s.floats(s.field(s.field(second, 0), 0)), (std::vector<float>{4, -4}));
}

TEST_P(Values, WhatDoesNotFitIsRefusedByName) {
  ListCall s(compiled(kLists, GetParam()));
  relay_value *v = nullptr, *const good = s.list(1);
  const auto refused = [&](relay_status status, std::string_view why) {
    EXPECT_EQ(status, RELAY_USAGE) << why;
    EXPECT_NE(s.said().find(why), std::string::npos) << s.said();
    EXPECT_EQ(v, nullptr);
  };
  Array<float> a{{1, 2, 3}, {3}};
  DLTensor t = a.tensor();
  refused(s.api->value_tensor(s.context, 99, &t, &v), "there is no type 99");
  refused(s.api->value_tensor(s.context, s.types.list, &t, &v), "is no tensor");
  refused(s.api->value_tensor(s.context, s.types.element, &t, &v), "must have shape (2), it has (3)");
  t.dtype.code = kDLInt;
  refused(s.api->value_tensor(s.context, s.types.element, &t, &v), "must be float32");
  t.shape = nullptr;
  refused(s.api->value_tensor(s.context, s.types.vector, &t, &v), "must be float32");
  t.dtype.code = kDLFloat;
  refused(s.api->value_tensor(s.context, s.types.vector, &t, &v),
          "must have shape (?), it has none: `shape` is null");
  refused(s.api->value_tensor(s.context, s.types.vector, nullptr, &v), "is null");
  relay_value* fields[] = {good, good};
  refused(s.api->value_node(s.context, s.types.list, 0, fields, 2, &v), "field 0 must be of type");
  refused(s.api->value_node(s.context, s.types.list, 0, fields, 1, &v), "has 2 fields; 1 were given");
  refused(s.api->value_node(s.context, s.types.list, 2, fields, 2, &v), "has 2 constructors; number 2");
  refused(s.api->value_node(s.context, s.types.element, 0, fields, 0, &v), "has 0 constructors");
  refused(s.api->value_node(s.context, s.types.list, 0, nullptr, 2, &v), "0 were given");
  refused(s.api->value_field(s.context, good, 2, &v), "has 2 fields; number 2");
  refused(s.call({good}, &v), "has 2 parameters; 1 arguments");
  refused(s.call({good, good}, &v), "argument 1 must be of type");
  refused(s.call({good, nullptr}, &v), "it is null");
  refused(s.call({good, s.pair(2, 3)}, &v), "`p_1` must have shape (n = 2, 3), it has (3, 3)");
  relay_value_view view = {};
  EXPECT_EQ(s.api->value_look(s.context, good, &view), RELAY_USAGE);
  EXPECT_NE(s.said().find("struct_size"), std::string::npos);
  EXPECT_EQ(s.api->call(s.context, nullptr, 0, nullptr), RELAY_USAGE);
  EXPECT_EQ(s.api->run(s.context, nullptr, 0, nullptr, 0), RELAY_UNSUPPORTED);
  EXPECT_NE(s.said().find("use relay_call"), std::string::npos);
  EXPECT_EQ(s.call({good, s.pair(2, 2)}, &v), RELAY_OK) << s.said();
}

TEST_P(Values, AModelOfStaticDataflowHasNone) {
  Session s(compiled("def @main(%x: Tensor[(2), float32]) { add(%x, %x) }", GetParam()));
  relay_value* v = nullptr;
  EXPECT_EQ(s.api->call(s.context, nullptr, 0, &v), RELAY_UNSUPPORTED);
  EXPECT_NE(s.said().find("use relay_run"), std::string::npos);
  EXPECT_EQ(s.api->value_tensor(s.context, 0, nullptr, &v), RELAY_UNSUPPORTED);
}

// The arguments of a run of kLoop.
struct LoopRun : Session {
  Array<float> x{{}, {0}};
  Array<int32_t> i{{0}, {}}, j{{0}, {}};
  DLTensor out[2] = {};
  using Session::Session;

  relay_status go(int64_t n, int32_t count, int32_t depth) {
    x = {std::vector<float>(static_cast<size_t>(n), 0.5f), {n}};
    i.data[0] = count, j.data[0] = depth;
    const DLTensor in[] = {x.tensor(), i.tensor(), j.tensor()};
    const DLTensor* inputs[] = {&in[0], &in[1], &in[2]};
    DLTensor* outputs[] = {&out[0], &out[1]};
    out[0] = out[1] = {};
    return api->run(context, inputs, 3, outputs, 2);
  }
  bool right(int64_t n, int32_t count, int32_t depth) const {
    const float* sum = static_cast<const float*>(out[0].data);
    bool same = out[0].ndim == 1 && out[0].shape[0] == n;
    for (int64_t k = 0; same && k < n; ++k) same = sum[k] == 0.5f * static_cast<float>(count + 1);
    return same && *static_cast<const int32_t*>(out[1].data) == depth;
  }
};

TEST_P(ValueRuns, ShapeVariablesTakeAnyExtent) {
  LoopRun r(compiled(kLoop, GetParam()));
  for (int64_t n : {0, 1, 7, 64, 1000}) {
    ASSERT_EQ(r.go(n, 3, 2), RELAY_OK) << r.said();
    EXPECT_TRUE(r.right(n, 3, 2)) << n;
  }
  // A tensor of the caller's must have the shape that comes out.
  const DLTensor in[] = {r.x.tensor(), r.i.tensor(), r.j.tensor()};
  const DLTensor* inputs[] = {&in[0], &in[1], &in[2]};
  Array<float> sum{std::vector<float>(1000), {1000}};
  Array<int32_t> depth{{0}, {}};
  DLTensor y = sum.tensor(), z = depth.tensor();
  DLTensor* outputs[] = {&y, &z};
  EXPECT_EQ(r.api->run(r.context, inputs, 3, outputs, 2), RELAY_OK) << r.said();
  EXPECT_EQ(sum.data[999], 2);
  EXPECT_EQ(depth.data[0], 2);
  sum.shape[0] = 999;
  EXPECT_EQ(r.api->run(r.context, inputs, 3, outputs, 2), RELAY_USAGE);
  EXPECT_NE(r.said().find("output `output_0`"), std::string::npos) << r.said();
}

// Random lengths: what a run leaves is used by the next ones, so the context stops growing.
TEST_P(ValueRuns, MemoryStaysFlat) {
  Counting memory{-1};
  {
    LoopRun r(compiled(kLoop, GetParam()), &memory.api);
    std::mt19937 random(7);
    const auto run = [&] {
      const auto n = static_cast<int64_t>(random() % 2048);
      const auto count = static_cast<int32_t>(random() % 8);
      ASSERT_EQ(r.go(n, count, 5), RELAY_OK) << r.said();
      ASSERT_TRUE(r.right(n, count, 5));
    };
    // A run under the emulation takes a thousand times as long.
    const int runs = GetParam() == On::kCpu ? 100000 : 500;
    for (int k = 0; k < 2000 && k < runs; ++k) run();
    const int64_t live = memory.live;
    const int requests = memory.requests;
    const cuda::Environment no_more("RELAY_EMULATED_MEMORY", "0");
    for (int k = 0; k < runs; ++k) run();
    EXPECT_EQ(memory.live, live);
    EXPECT_EQ(memory.requests, requests);
  }
  EXPECT_EQ(memory.live, 0);
}

TEST_P(ValueRuns, TooDeepARecursionIsALimitAndTheContextLivesOn) {
  LoopRun r(compiled(kLoop, GetParam()));
  ASSERT_EQ(r.go(4, 1, 100000000), RELAY_LIMIT);
  EXPECT_NE(r.said().find("nested too deeply"), std::string::npos) << r.said();
  ASSERT_EQ(r.go(4, 1, 100), RELAY_OK) << r.said();
  EXPECT_TRUE(r.right(4, 1, 100));
}

TEST_P(ValueRuns, ALoopCanBeCancelled) {
  LoopRun r(compiled(kLoop, GetParam()));
  std::atomic<bool> ended = false;
  relay_status status = RELAY_OK;
  std::thread worker([&] {
    status = r.go(16, INT32_MAX, 0);
    ended = true;
  });
  while (!ended) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    r.api->cancel(r.context);
  }
  worker.join();
  EXPECT_EQ(status, RELAY_CANCELLED);
  (void)r.go(1, 1, 1);  // a request that came too late is for the next run
  ASSERT_EQ(r.go(16, 3, 0), RELAY_OK) << r.said();
  EXPECT_TRUE(r.right(16, 3, 0));
}

TEST_P(ValueRuns, ALoopThatTakesTooLongIsTimedOut) {
  LoopRun r(compiled(kLoop, GetParam()));
  ASSERT_EQ(r.api->set_timeout(r.context, 20000000), RELAY_OK);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(r.go(16, INT32_MAX, 0), RELAY_TIMED_OUT);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(20));
  EXPECT_NE(r.said().find("20000000 ns"), std::string::npos) << r.said();
  // The time is each run's own.
  ASSERT_EQ(r.api->set_timeout(r.context, int64_t{60} * 1000000000), RELAY_OK);
  ASSERT_EQ(r.go(16, 3, 2), RELAY_OK) << r.said();
  EXPECT_TRUE(r.right(16, 3, 2));
}

TEST_P(Values, ACallThatTakesTooLongIsTimedOut) {
  ListCall s(compiled(kLists, GetParam()));
  relay_value* result = nullptr;
  relay_value *list = s.list(3), *pair = s.pair(2, 2);
  ASSERT_EQ(s.api->set_timeout(s.context, 1), RELAY_OK);
  EXPECT_EQ(s.call({list, pair}, &result), RELAY_TIMED_OUT);
  EXPECT_EQ(result, nullptr);
  ASSERT_EQ(s.api->set_timeout(s.context, 0), RELAY_OK);
  EXPECT_EQ(s.call({list, pair}, &result), RELAY_OK) << s.said();
}

TEST_P(ValueRuns, WithoutMemoryThereIsALimitAndNoLeak) {
  const int refusals = refuse_each_request<LoopRun>(
      compiled(kLoop, GetParam()), [](LoopRun& r) { return r.go(10000, 20, 300); },
      [](LoopRun& r) { return r.right(10000, 20, 300); });
  EXPECT_GE(refusals, 5);  // the model, a context, its heap and blocks of that
}

// Memory comes in chunks of 64 KiB: over many of them each place that takes a cell is the first
// to find none left.
TEST_P(ValueRuns, WithoutMemoryForAConstantThereIsALimit) {
  const Compiled& c = compiled(R"(
type List[A] { Cons(A, List[A]), Nil }
def @build(%n: int32, %l: List[Tensor[(40), float32]]) -> List[Tensor[(40), float32]] {
  if (%n == 0) { %l } else {
    @build(%n - 1, Cons(cumsum(ones(shape=[40], dtype="float32"), axis=0) * cast(%n, dtype="float32"), %l))
  }
}
def @count(%n: int32, %l: List[Tensor[(40), float32]]) -> int32 {
  match (%l) { Nil => %n, Cons(_, %t) => @count(%n + 1, %t) }
}
def @main(%n: int32) { @count(0, @build(%n, Nil)) }
)",
                               GetParam());
  struct Run : Session {
    DLTensor out = {};
    using Session::Session;
  };
  int32_t n = GetParam() == On::kCpu ? 20000 : 3000;
  const DLTensor in = {&n, {kDLCPU, 0}, 0, {kDLInt, 32, 1}, nullptr, nullptr, 0};
  const int refused = refuse_each_request<Run>(
      c,
      [&](Run& r) {
        const DLTensor* inputs[] = {&in};
        DLTensor* outputs[] = {&r.out};
        r.out = {};
        return r.api->run(r.context, inputs, 1, outputs, 1);
      },
      [&](Run& r) { return *static_cast<const int32_t*>(r.out.data) == n; });
  EXPECT_GE(refused, 10);
}

TEST_P(ValueRuns, ThreadsShareAModel) {
  const Session shared(compiled(kLoop, GetParam()));
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      LoopRun r(shared.api, shared.model);
      for (int k = 0; k < 200; ++k) {
        if (r.go(t * 10 + 1, k % 5, t) != RELAY_OK || !r.right(t * 10 + 1, k % 5, t)) ++wrong;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST_P(ValueRuns, OutputsHaveTheNamesThatTheProgramGivesThem) {
  const Compiled& named = compiled(R"(
def @go(%n: int32, %x: float32) -> (float32, int32) { if (%n == 0) { (%x, %n) } else { @go(%n - 1, %x * 2f) } }
def @main(%x: float32, output_names=["last", "left"]) { @go(3, %x) }
)",
                                   GetParam());
  relay_model* model = nullptr;
  ASSERT_EQ(named.api->model_open(nullptr, &model), RELAY_OK);
  const std::string description = named.api->model_describe(model);
  EXPECT_NE(description.find(R"("outputs":[{"name":"last")"), std::string::npos) << description;
  EXPECT_NE(description.find(R"({"name":"left")"), std::string::npos) << description;
  EXPECT_EQ(named.api->model_close(model), RELAY_OK);
}

}  // namespace
}  // namespace relay::aot
