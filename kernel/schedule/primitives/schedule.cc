#include "kernel/schedule/primitives/schedule.h"

#include <charconv>
#include <optional>

#include "base/cat.h"
#include "kernel/schedule/primitives/primitives.h"
#include "kernel/validate.h"

namespace relay::kernel::schedule::primitives {
namespace {

struct Word {
  std::string_view text;
  size_t column = 0;  // of its first character, from 1
};

std::vector<Word> words(std::string_view text) {
  std::vector<Word> out;
  for (size_t at = 0; (at = text.find_first_not_of(" \t\r", at)) != std::string_view::npos;) {
    const size_t end = std::min(text.find_first_of(" \t\r", at), text.size());
    out.push_back({text.substr(at, end - at), at + 1});
    at = end;
  }
  return out;
}

std::optional<int64_t> number_of(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

// The arguments of a step, taken one after the other; the first mistake is kept.
class Arguments {
 public:
  Arguments(std::vector<Word> step, std::string_view usage) : step_(std::move(step)), usage_(usage) {}

  // Nothing left, and no mistake so far?
  bool done() {
    if (reason_.empty() && next_ < step_.size()) mistake("the end of the step");
    return reason_.empty();
  }
  bool more() const { return reason_.empty() && next_ < step_.size(); }
  Outcome refusal() const { return Outcome::refused(reason_); }

  std::string_view name(std::string_view what) { return take(what); }
  int64_t number(std::string_view what) {
    const std::string_view text = take(what);
    const std::optional<int64_t> value = number_of(text);
    if (!value) back(what);
    return value.value_or(0);
  }
  // BLOCK.DEPTH
  LoopName loop() {
    const std::string_view text = take("BLOCK.DEPTH"),
                           depth = text.substr(std::min(text.rfind('.'), text.size()));
    const std::optional<int64_t> number = depth.empty() ? std::nullopt : number_of(depth.substr(1));
    if (!number) back("BLOCK.DEPTH");
    return {std::string(text.substr(0, text.size() - depth.size())), static_cast<size_t>(number.value_or(0))};
  }
  // D, D/F or D%F
  LayoutDim layout_dim() {
    constexpr std::string_view kWhat = "D, D/F or D%F";
    const std::string_view text = take(kWhat);
    const size_t sign = text.find_first_of("/%");
    const bool whole = sign == std::string_view::npos;
    const std::optional<int64_t> dim = number_of(text.substr(0, sign)),
                                 factor = whole ? 1 : number_of(text.substr(sign + 1));
    if (!dim || !factor) back(kWhat);
    return {static_cast<size_t>(dim.value_or(0)),
            whole               ? LayoutDim::kWhole
            : text[sign] == '/' ? LayoutDim::kQuotient
                                : LayoutDim::kRemainder,
            factor.value_or(1)};
  }
  template <class T, size_t kCount>
  T one_of(const std::pair<std::string_view, T> (&choices)[kCount], std::string_view what) {
    const std::string_view text = take(what);
    for (const auto& [word, value] : choices) {
      if (word == text) return value;
    }
    back(what);
    return choices[0].second;
  }

 private:
  std::string_view take(std::string_view what) {
    if (!reason_.empty()) return {};
    if (next_ == step_.size()) {
      mistake(what);
      return {};
    }
    return step_[next_++].text;
  }
  void back(std::string_view what) {
    if (!reason_.empty()) return;
    --next_;
    mistake(what);
  }
  void mistake(std::string_view what) {
    const Word& last = step_.back();
    const bool end = next_ == step_.size();
    const size_t column = end ? last.column + last.text.size() : step_[next_].column;
    reason_ = cat("column ", column, ": expected ", what, ", found ",
                  end ? std::string("the end") : cat("`", step_[next_].text, "`"), "; it is `", step_[0].text,
                  usage_.empty() ? "" : " ", usage_, "`");
  }

  std::vector<Word> step_;
  std::string_view usage_;
  size_t next_ = 1;
  std::string reason_;
};

constexpr std::pair<std::string_view, ForKind> kGridWords[] = {
    {"block_x", ForKind::kBlockX},   {"block_y", ForKind::kBlockY},   {"block_z", ForKind::kBlockZ},
    {"thread_x", ForKind::kThreadX}, {"thread_y", ForKind::kThreadY}, {"thread_z", ForKind::kThreadZ}};
constexpr std::pair<std::string_view, Scope> kScopeWords[] = {
    {"global", Scope::kGlobal}, {"shared", Scope::kShared}, {"local", Scope::kLocal}};
constexpr std::string_view kScopes = "global, shared or local";

template <Outcome (*f)(const Kernel&, const LoopName&)>
Outcome on_loop(const Kernel& k, Arguments& a) {
  const LoopName loop = a.loop();
  return a.done() ? f(k, loop) : a.refusal();
}
template <Outcome (*f)(const Kernel&, std::string_view)>
Outcome on_block(const Kernel& k, Arguments& a) {
  const std::string_view block = a.name("BLOCK");
  return a.done() ? f(k, block) : a.refusal();
}
template <Outcome (*f)(const Kernel&, std::string_view, const LoopName&)>
Outcome to_loop(const Kernel& k, Arguments& a) {
  const std::string_view block = a.name("BLOCK");
  const LoopName loop = a.loop();
  return a.done() ? f(k, block, loop) : a.refusal();
}
Outcome do_bind(const Kernel& k, Arguments& a) {
  const LoopName loop = a.loop();
  const ForKind index = a.one_of(kGridWords, "block_x to thread_z");
  return a.done() ? bind(k, loop, index) : a.refusal();
}
Outcome do_cache_read(const Kernel& k, Arguments& a) {
  const LoopName loop = a.loop();
  const std::string_view buffer = a.name("BUFFER");
  const Scope scope = a.one_of(kScopeWords, kScopes);
  return a.done() ? cache_read(k, loop, buffer, scope) : a.refusal();
}
Outcome do_pad_einsum(const Kernel& k, Arguments& a) {
  const std::string_view block = a.name("BLOCK");
  std::vector<int64_t> factors;
  while (a.more()) factors.push_back(a.number("FACTOR"));
  return a.done() ? pad_einsum(k, block, factors) : a.refusal();
}
Outcome do_reorder(const Kernel& k, Arguments& a) {
  const std::string_view block = a.name("BLOCK");
  std::vector<size_t> order;
  while (a.more()) order.push_back(static_cast<size_t>(a.number("DEPTH")));
  return a.done() ? reorder(k, block, order) : a.refusal();
}
Outcome do_set_scope(const Kernel& k, Arguments& a) {
  const std::string_view buffer = a.name("BUFFER");
  const Scope scope = a.one_of(kScopeWords, kScopes);
  return a.done() ? set_scope(k, buffer, scope) : a.refusal();
}
Outcome do_split(const Kernel& k, Arguments& a) {
  const LoopName loop = a.loop();
  const int64_t factor = a.number("FACTOR");
  return a.done() ? split(k, loop, factor) : a.refusal();
}
Outcome do_storage_align(const Kernel& k, Arguments& a) {
  const std::string_view buffer = a.name("BUFFER");
  const int64_t dim = a.number("DIM"), factor = a.number("FACTOR"), offset = a.number("OFFSET");
  return a.done() ? storage_align(k, buffer, static_cast<size_t>(dim), factor, offset) : a.refusal();
}
Outcome do_tensorize(const Kernel& k, Arguments& a) {
  const LoopName loop = a.loop();
  const std::string_view intrinsic = a.name("INTRINSIC");
  return a.done() ? tensorize(k, loop, intrinsic) : a.refusal();
}
Outcome do_transform_layout(const Kernel& k, Arguments& a) {
  const std::string_view buffer = a.name("BUFFER");
  std::vector<LayoutDim> layout;
  while (a.more()) layout.push_back(a.layout_dim());
  return a.done() ? transform_layout(k, buffer, layout) : a.refusal();
}

struct Row {
  std::string_view name, arguments;
  Outcome (*apply)(const Kernel&, Arguments&);
};
constexpr Row kPrimitives[] = {
    {"bind", "BLOCK.DEPTH INDEX", do_bind},
    {"blockize", "BLOCK.DEPTH", on_loop<blockize>},
    {"cache_read", "BLOCK.DEPTH BUFFER SCOPE", do_cache_read},
    {"cache_write", "BLOCK.DEPTH", on_loop<cache_write>},
    {"compute_at", "BLOCK READER.DEPTH", to_loop<compute_at>},
    {"compute_inline", "BLOCK", on_block<compute_inline>},
    {"decompose_reduction", "BLOCK.DEPTH", on_loop<decompose_reduction>},
    {"fuse", "BLOCK.DEPTH", on_loop<fuse>},
    {"pad_einsum", "BLOCK FACTOR...", do_pad_einsum},
    {"parallel", "BLOCK.DEPTH", on_loop<parallel>},
    {"reorder", "BLOCK DEPTH...", do_reorder},
    {"reverse_compute_at", "BLOCK WRITER.DEPTH", to_loop<reverse_compute_at>},
    {"reverse_compute_inline", "BLOCK", on_block<reverse_compute_inline>},
    {"rfactor", "BLOCK.DEPTH", on_loop<rfactor>},
    {"set_scope", "BUFFER SCOPE", do_set_scope},
    {"split", "BLOCK.DEPTH FACTOR", do_split},
    {"storage_align", "BUFFER DIM FACTOR OFFSET", do_storage_align},
    {"tensorize", "BLOCK.DEPTH INTRINSIC", do_tensorize},
    {"transform_layout", "BUFFER D|D/F|D%F...", do_transform_layout},
    {"unroll", "BLOCK.DEPTH", on_loop<unroll>},
    {"vectorize", "BLOCK.DEPTH", on_loop<vectorize>},
};

const Row* find_row(std::string_view name) {
  for (const Row& row : kPrimitives) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

}  // namespace

std::vector<std::string_view> primitives() {
  std::vector<std::string_view> out;
  for (const Row& row : kPrimitives) out.push_back(row.name);
  return out;
}

std::string_view arguments_of(std::string_view primitive) {
  const Row* row = find_row(primitive);
  return row ? row->arguments : std::string_view();
}

Outcome apply(const Kernel& k, std::string_view step) {
  std::vector<Word> parts = words(step);
  if (parts.empty()) return Outcome::refused("an empty step");
  const Row* row = find_row(parts[0].text);
  if (row == nullptr) {
    return Outcome::refused(cat("column ", parts[0].column, ": there is no primitive `", parts[0].text,
                                "`; there are: ", join(primitives(), ", ")));
  }
  Arguments arguments(std::move(parts), row->arguments);
  Outcome made = row->apply(k, arguments);
  if (!made) return made;
  if (const std::vector<std::string> wrong = validate(*made); !wrong.empty())
    return Outcome::refused(cat("the result is not known to be right: ", wrong[0]));
  return made;
}

std::string Schedule::apply(std::string_view step) {
  const Outcome outcome = primitives::apply(kernel_, step);
  if (!outcome) return outcome.reason();
  kernel_ = *outcome;
  trace_ += cat(join(words(step), " ", [](const Word& w) { return w.text; }), "\n");
  return {};
}

std::string Schedule::replay(std::string_view trace) {
  for (size_t number = 1; !trace.empty(); ++number) {
    const size_t end = std::min(trace.find('\n'), trace.size());
    std::string_view line = trace.substr(0, end);
    trace.remove_prefix(std::min(end + 1, trace.size()));
    line = line.substr(0, line.find('#'));
    if (words(line).empty()) continue;
    if (std::string reason = apply(line); !reason.empty()) {
      const std::vector<Word> step = words(line);
      return cat("line ", number, ": `", join(step, " ", [](const Word& w) { return w.text; }),
                 "`: ", reason);
    }
  }
  return {};
}

}  // namespace relay::kernel::schedule::primitives
