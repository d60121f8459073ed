// libFuzzer: any text is refused with a message, or is a program that runs to a value, a
// trap or a limit.
//
//   ./dev fuzz 60s --libfuzzer run
#include <cstdio>
#include <cstdlib>

#include "ir/traverse.h"
#include "tests/property/run.h"

namespace relay::property {
namespace {

// Tensors whose extents are written down are as large as the text says, and that is
// nobody's mistake.
bool is_small(Type t) {
  constexpr int64_t kMost = 10'000;
  if (const auto* tensor = t->as<TensorType>()) {
    int64_t elements = 1;
    for (Dim d : tensor->dims) {
      // What is known only when the program runs could be anything.
      if (!d.is_const() || d.value() > kMost) return false;
      elements *= d.value();
      if (elements > kMost) return false;
    }
    return true;
  }
  bool small = true;
  for_each_part(t, [&](Type part) { small = small && is_small(part); });
  return small;
}

bool is_small(const Module& m) {
  for (const auto& [name, fn] : m.functions()) {
    for (Expr e : post_order(fn)) {
      if (!is_small(e->type)) return false;
    }
  }
  return true;
}

}  // namespace
}  // namespace relay::property

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace relay::property;
  std::string wrong;
  const auto read = read_back(std::string(reinterpret_cast<const char*>(data), size), wrong);
  if (!read) return 0;  // fuzz_parse looks at these
  const auto typed = checked(*read, wrong);
  if (!typed && wrong.empty()) {
    std::fprintf(stderr, "refused without a message\n");
    std::abort();
  }
  const relay::Fn* main = typed ? typed->function("main") : nullptr;
  if (!main || !is_small(*typed)) return 0;
  std::vector<relay::Value> zeros;
  for (const relay::Var* x : main->params) {
    const auto* tensor = x->type->as<relay::TensorType>();
    if (!tensor) return 0;
    zeros.emplace_back(relay::Tensor(tensor->dtype, *tensor->static_shape()));
  }
  const Run run = interpret(*typed, zeros, /*look_at_types=*/true);
  if (!run.wrong_type.empty()) {
    std::fprintf(stderr, "%s\n%s", run.wrong_type.c_str(), text_of(*typed).c_str());
    std::abort();
  }
  return 0;
}
