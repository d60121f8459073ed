// Programs as artifacts, for tests that call them through the C interface.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "aot/build.h"
#include "aot/program.h"
#include "base/cat.h"
#include "base/file.h"
#include "ir/text/parser.h"
#include "op/operators.h"
#include "passes/runner.h"
#include "runtime/relay.h"
#include "toolchain/compiler.h"
#include "toolchain/library.h"

namespace relay::aot {

// What code needs that runs anywhere.
inline const std::vector<std::string> kAnyProcessor = {"sse2"};

// The program's @main at -O2. The test fails if there is no code for it.
inline Result<Program> program_of(std::string_view program) {
  Diagnostics diagnostics;
  ParseOptions parsing;
  const Result<Module> parsed = parse("test", std::string(program), diagnostics, op::operators(), parsing);
  const Result<Module> lowered =
      parsed ? passes::run_pipeline(*parsed, passes::default_pipeline(2), {}, diagnostics)
             : Result<Module>(kReported);
  const Result<Program> made =
      lowered ? make_program(*lowered, "main", diagnostics) : Result<Program>(kReported);
  EXPECT_TRUE(made.ok()) << diagnostics.render(parsing.into.context().sources());
  return made;
}

// With one variant for each list of features. All of them are compiled for any processor, and
// say they need more.
inline Sources sources_of(std::string_view program, const std::vector<std::vector<std::string>>& features,
                          const EmitOptions& options) {
  const Result<Program> made = program_of(program);
  if (!made) return {};
  std::vector<Variant> variants;
  for (const std::vector<std::string>& needed : features) {
    Variant v{&*made, target::target_of("sse2")};
    v.target.text = join(needed, "+");
    v.needs = needed;
    variants.push_back(std::move(v));
  }
  return emit(variants, options);
}

// A compiled program in a folder of its own.
struct Compiled {
  TemporaryFolder folder;
  std::string path;
  toolchain::Library library;
  const relay_api* api = nullptr;

  explicit Compiled(std::string_view program, const EmitOptions& options = {},
                    const std::vector<std::vector<std::string>>& features = {kAnyProcessor},
                    const toolchain::CompileOptions& compile = {})
      : Compiled(NotYet()) {
    Diagnostics diagnostics;
    EXPECT_TRUE(
        build(sources_of(program, features, options), options.weights, compile, path, diagnostics).ok())
        << diagnostics.render({});
    load();
  }
  std::string weights() const { return folder.path() + "/model.safetensors"; }

 protected:
  struct NotYet {};
  explicit Compiled(NotYet) {
    EXPECT_EQ(folder.make(), "");
    path = folder.path() + "/model.so";
  }
  void load() {
    EXPECT_EQ(library.open(path), "");
    if (auto get = reinterpret_cast<const relay_api* (*)()>(library.find("relay_get_api"))) api = get();
  }
};

// A model that is open, with a context; both are closed with it.
struct Session {
  const relay_api* api;
  relay_model* model = nullptr;
  relay_context* context = nullptr;
  relay_status status;

  explicit Session(const Compiled& c, const relay_allocator* memory = nullptr, unsigned threads = 1)
      : api(c.api) {
    relay_open_options options = {};
    options.struct_size = sizeof options;
    options.threads = threads;
    options.allocator = memory;
    status = api->model_open(&options, &model);
    if (status == RELAY_OK) status = api->context_create(model, &context);
  }
  // Another context of a model that is open.
  Session(const relay_api* of, relay_model* shared) : api(of) {
    status = api->context_create(shared, &context);
  }
  Session(const Session&) = delete;
  ~Session() {
    api->context_free(context);
    EXPECT_EQ(api->model_close(model), RELAY_OK);
  }
  std::string said() const { return api->error(context); }
};

// Memory that is counted; the request after `left` others is refused, none if that is negative.
struct Counting {
  int left;
  int64_t live = 0;  // bytes
  int requests = 0;
  relay_allocator api = {sizeof(relay_allocator), this, allocate, release};
  static void* allocate(void* self, size_t size, size_t alignment) {
    Counting& c = *static_cast<Counting*>(self);
    ++c.requests;
    if (c.left-- == 0) return nullptr;
    c.live += static_cast<int64_t>(size);
    return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  }
  static void release(void* self, void* memory, size_t size) {
    static_cast<Counting*>(self)->live -= static_cast<int64_t>(size);
    std::free(memory);
  }
};

// Each request for memory is refused once: the run ends with a limit, nothing is lost, and the
// context can be used again. `R` is a Session of the program, or like one; `go` runs it for a
// status, and `is_right` looks at what it gave. How many were refused.
template <class R, class OfProgram, class Go, class IsRight>
int refuse_each_request(const OfProgram& program, const Go& go, const IsRight& is_right) {
  for (int nth = 0;; ++nth) {
    Counting memory{nth};
    bool refused = false;
    {
      R r(program, &memory.api);
      relay_status status = r.status;
      if (status == RELAY_OK) status = go(r);
      refused = memory.left < 0;
      if (refused) {
        EXPECT_EQ(status, RELAY_LIMIT) << nth;
      }
      if (refused && r.status == RELAY_OK) {
        const relay_status again = go(r);
        EXPECT_EQ(again, RELAY_OK) << r.said();
        if (again == RELAY_OK) {
          EXPECT_TRUE(is_right(r));
        }
      }
    }
    EXPECT_EQ(memory.live, 0);
    if (!refused) return nth;
  }
}

}  // namespace relay::aot
