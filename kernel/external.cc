#include "kernel/external.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "base/cat.h"
#include "base/check.h"
#include "base/failure.h"
#include "kernel/execute.h"

namespace relay::kernel {
namespace {

using ::relay::Tensor;

// --- Calls ---------------------------------------------------------------------------------------

// On the machines that we know, pointers and int64_t are passed alike: a function of any number of
// either can be called as one of words.
static_assert(sizeof(void*) == sizeof(int64_t));

#ifdef __clang__
#define RELAY_ANY_SIGNATURE __attribute__((no_sanitize("function")))
#else
#define RELAY_ANY_SIGNATURE
#endif

template <size_t... kAt>
RELAY_ANY_SIGNATURE int32_t call_words(void* function, const int64_t* words, std::index_sequence<kAt...>) {
  using Function = int32_t (*)(decltype((void)kAt, int64_t())...);
  return reinterpret_cast<Function>(function)(words[kAt]...);
}

using Caller = int32_t (*)(void* function, const int64_t* words);
template <size_t kCount>
int32_t call_with(void* function, const int64_t* words) {
  return call_words(function, words, std::make_index_sequence<kCount>());
}
template <size_t... kCounts>
constexpr std::array<Caller, sizeof...(kCounts)> callers(std::index_sequence<kCounts...>) {
  return {call_with<kCounts>...};
}
constexpr auto kCallers = callers(std::make_index_sequence<kMostExternalParameters + 1>());

// --- The reference -------------------------------------------------------------------------------

// Memory of a tensor between two strips that nobody may write to.
class Guarded {
 public:
  static constexpr size_t kStrip = 256;
  static constexpr uint8_t kMark = 0xa5;

  explicit Guarded(size_t bytes)
      : bytes_(bytes), memory_(kUInt8, {static_cast<int64_t>(bytes + 2 * kStrip)}) {
    std::memset(memory_.data(), kMark, bytes + 2 * kStrip);
  }
  uint8_t* data() { return static_cast<uint8_t*>(memory_.data()) + kStrip; }
  bool intact() {
    const auto marked = [](const uint8_t* strip) {
      return std::all_of(strip, strip + kStrip, [](uint8_t b) { return b == kMark; });
    };
    return marked(data() - kStrip) && marked(data() + bytes_);
  }

 private:
  size_t bytes_;
  Tensor memory_;
};

}  // namespace

std::string wrong_symbol(std::string_view symbol) {
  constexpr size_t kLongest = 128;
  constexpr std::string_view kKeywords[] = {
      "auto",   "break",    "case",   "char",     "const",    "continue", "default", "do",     "double",
      "else",   "enum",     "extern", "float",    "for",      "goto",     "if",      "inline", "int",
      "long",   "register", "return", "short",    "restrict", "signed",   "sizeof",  "static", "struct",
      "switch", "typedef",  "union",  "unsigned", "void",     "volatile", "while"};
  const auto is_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  if (symbol.empty() || !std::all_of(symbol.begin(), symbol.end(), is_word) ||
      (symbol[0] >= '0' && symbol[0] <= '9'))
    return "is no identifier of C";
  if (symbol.size() > kLongest) return cat("is longer than ", kLongest, " characters");
  if (std::find(std::begin(kKeywords), std::end(kKeywords), symbol) != std::end(kKeywords))
    return "is a keyword of C";
  if (symbol[0] == '_') return "begins with `_`, as what belongs to the system does";
  if (symbol == "main") return "is the function that a program begins with";
  if (symbol.starts_with("relay_")) return "begins with `relay_`, as what artifacts export does";
  return {};
}

std::vector<Expr> default_extents(const Kernel& k) {
  Kernel plain = k;
  plain.external = nullptr;
  return shape_parameters(plain);
}

std::vector<std::string> validate_external(const Kernel& k) {
  std::vector<std::string> wrong;
  for (const auto* list : {&k.inputs, &k.outputs}) {
    for (const Buffer* b : *list) {
      if (!b->strides.empty())
        wrong.push_back(cat("`", b->name.text(), "` is not dense, and callers would not know"));
    }
  }
  if (k.outputs.empty()) wrong.push_back("it has no output, and may do nothing else than write to outputs");
  if (!k.temporaries.empty()) wrong.push_back("an external kernel has no temporaries");
  return wrong;
}

bool same_signature(const Kernel& a, const Kernel& b) {
  const auto same = [](const List<const Buffer*>& x, const List<const Buffer*>& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                      [](const Buffer* p, const Buffer* q) { return p->dtype == q->dtype; });
  };
  return same(a.inputs, b.inputs) && same(a.outputs, b.outputs) &&
         a.external->extents.size() == b.external->extents.size();
}

int32_t call_external(const Kernel& k, void* const* buffers, const int64_t* dims) {
  const External& e = *k.external;
  if (e.function == nullptr)
    throw Trap(cat("no library was given that has the C function `", e.symbol.text(), "`"));
  CHECK(k.inputs.size() + k.outputs.size() + e.extents.size() <= kMostExternalParameters, k.name.str());
  std::array<int64_t, kMostExternalParameters> words;
  size_t count = 0;
  for (; count < k.inputs.size() + k.outputs.size(); ++count)
    words[count] = reinterpret_cast<int64_t>(buffers[count]);
  std::unordered_map<const ExprNode*, int64_t> values;
  for (Expr extent : e.extents) {
    if (extent->kind != ExprKind::kInt && values.empty()) {
      size_t i = 0;
      for (Expr v : shape_parameters(k)) values[v.get()] = dims[i++];
    }
    const std::optional<int64_t> value = evaluate(extent, values);
    if (!value) throw Trap(cat("`", show(extent), "` has no value for these shapes"));
    words[count++] = *value;
  }
  return kCallers[count](e.function, words.data());
}

std::string external_failure(const Kernel& k, int32_t code) {
  return cat("the C function `", k.external->symbol.text(), "` failed with code ", code);
}

std::vector<Tensor> execute_external(const Kernel& k, std::span<const Tensor> inputs) {
  const auto variables = bind_shapes(k, inputs);
  std::vector<int64_t> dims;
  for (Expr v : shape_parameters(k)) dims.push_back(variables.at(v.get()));
  std::vector<Tensor> made;
  for (const Buffer* b : k.outputs) {
    made.emplace_back(b->dtype, shape_at(b->shape, variables));
  }
  std::vector<Guarded> memory;
  std::vector<void*> buffers;
  for (const Tensor& t : inputs) {
    memory.emplace_back(t.bytes());
    if (t.bytes() > 0) std::memcpy(memory.back().data(), t.data(), t.bytes());
  }
  for (const Tensor& t : made) memory.emplace_back(t.bytes());
  for (Guarded& g : memory) buffers.push_back(g.data());

  const int32_t code = call_external(k, buffers.data(), dims.data());

  const auto breach = [&](std::string_view what, const Buffer* b) {
    return Trap(cat("the C function `", k.external->symbol.text(), "` ", what, " `", b->name.text(), "`"));
  };
  for (size_t i = 0; i < memory.size(); ++i) {
    const bool is_input = i < inputs.size();
    const Buffer* b = is_input ? k.inputs[i] : k.outputs[i - inputs.size()];
    if (!memory[i].intact()) throw breach("writes beyond", b);
    if (is_input && inputs[i].bytes() > 0 &&
        std::memcmp(memory[i].data(), inputs[i].data(), inputs[i].bytes()) != 0)
      throw breach("writes to its input", b);
  }
  if (code != 0) throw Trap(external_failure(k, code));
  for (size_t i = 0; i < made.size(); ++i) {
    if (made[i].bytes() > 0) std::memcpy(made[i].data(), memory[inputs.size() + i].data(), made[i].bytes());
  }
  return made;
}

}  // namespace relay::kernel
