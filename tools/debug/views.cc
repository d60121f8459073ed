// The commands that look: at values, at the frames, at the text.
#include <algorithm>

#include "base/cat.h"
#include "base/nearest.h"
#include "tools/debug/refused.h"
#include "tools/debug/session.h"
#include "tools/debug/slice.h"
#include "tools/debug/statistics.h"
#include "tools/debug/words.h"

namespace relay::tools::debug {
namespace {

using State = Execution::State;

constexpr int64_t kMostElements = 256;
constexpr size_t kMostFrames = 20;
constexpr uint64_t kLinesAround = 5;

uint64_t count_of(std::string_view arguments, uint64_t otherwise, std::string_view command) {
  if (arguments.empty()) return otherwise;
  const std::optional<uint64_t> n = whole_number(arguments);
  if (!n) throw Refused(cat("`", arguments, "` after `", command, "` is no count"));
  return *n;
}

}  // namespace

// --- names ---------------------------------------------------------------------------------------

std::vector<Session::Named> Session::names(const Execution::Place& place) const {
  std::vector<Named> out;
  if (!place.frame) return out;
  for (const Var* x : program_.variables_around(place.e)) {
    const auto it = place.frame->values.find(x);
    if (it != place.frame->values.end()) out.push_back({cat("%", x->name.text()), it->second});
  }
  // What the text binds has a number and no scope of its own.
  std::vector<Expr> bound;
  for (Expr e : program_.expressions()) {
    if (program_.names().given_by(e) && execution_.kept(place.frame, e)) bound.push_back(e);
  }
  std::sort(bound.begin(), bound.end(), [](Expr a, Expr b) {
    return a->span.file != b->span.file ? a->span.file < b->span.file : a->span.begin < b->span.begin;
  });
  for (Expr e : bound) out.push_back({*program_.names().given_by(e), *execution_.kept(place.frame, e)});
  return out;
}

Session::Named Session::named(std::string_view text) const {
  text = trimmed(text);
  // Names of an ONNX model may have brackets of their own.
  const size_t bracket = text.ends_with(']') ? text.rfind('[') : text.find('[');
  const std::string_view name = trimmed(text.substr(0, bracket));
  if (name.empty()) throw Refused("the name of a value is needed; `env` lists those that there are");
  std::optional<Named> found;
  if (name == "result" && result_) found = Named{"result", result_};
  if (name == "result" && !found) throw Refused("there is no result yet: no stop has shown a value");
  if (!found) {
    const std::vector<Named> all = names(frame());
    for (const auto& exact : {true, false}) {
      for (const Named& n : all) {
        if (exact ? n.name == name : bare_name(n.name) == bare_name(name)) found = n;
      }
      if (found) break;
    }
    if (const std::string meant = found ? "" : program_.names().meant(name); !meant.empty()) {
      for (const Named& n : all) {
        if (n.name == meant) found = n;
      }
    }
  }
  if (!found) {
    // Of two that are as near, the one that has a value here.
    std::vector<std::string> all;
    for (const Named& n : names(frame())) all.push_back(bare_name(n.name));
    for (const std::string& n : program_.names().all()) all.push_back(n);
    const std::string near = did_you_mean(bare_name(name), all, "%");
    throw Refused(!program_.names().meant(name).empty()
                      ? cat("`", name, "` has no value here: it is not evaluated yet, or in another function")
                      : cat("there is no variable `", name, "` here; ", near.empty() ? "" : cat(near, " "),
                            "`env` lists those that there are"));
  }
  if (bracket == std::string_view::npos) return *found;
  const Slice slice = parse_slice(text.substr(bracket));
  if (!found->value.is_tensor())
    throw Refused(cat("`", name, "` is no tensor, so it has no slice: ", program_.short_value(found->value)));
  return {cat(found->name, text.substr(bracket)), Value(apply(slice, found->value.tensor()))};
}

Tensor Session::tensor(std::string_view name) const {
  const Named n = named(name);
  if (!n.value.is_tensor())
    throw Refused(cat("`", n.name, "` is no tensor: ", program_.short_value(n.value)));
  return n.value.tensor();
}

// --- values --------------------------------------------------------------------------------------

void Session::print(std::string_view arguments) {
  const Named n = named(arguments);
  if (!n.value.is_tensor()) {
    out_ += cat("  ", n.name, " = ",
                n.value.kind() == ValueKind::kClosure || n.value.kind() == ValueKind::kCallable
                    ? program_.short_value(n.value)
                    : interp::show(n.value),
                "\n");
    return;
  }
  const Tensor& t = n.value.tensor();
  out_ += cat("  ", n.name, " = ", relay::show(t, kMostElements), "\n");
  if (t.size() > 1) out_ += cat("  ", debug::show(statistics_of(t)), "\n");
}

void Session::shape(std::string_view arguments) {
  out_ += cat("  ", relay::show(tensor(arguments).shape()), "\n");
}

void Session::dtype(std::string_view arguments) { out_ += cat("  ", tensor(arguments).dtype().name(), "\n"); }

void Session::statistics(std::string_view arguments) {
  out_ += cat("  ", debug::show(statistics_of(tensor(arguments))), "\n");
}

void Session::histogram(std::string_view arguments) { out_ += debug::histogram(tensor(arguments)); }

void Session::env(std::string_view arguments) {
  if (!arguments.empty()) throw Refused("`env` lists all variables; `print NAME` shows one");
  const std::vector<Named> all = names(frame());
  if (all.empty()) out_ += "  no variables\n";
  for (const Named& n : all) out_ += cat("  ", n.name, " = ", program_.short_value(n.value), "\n");
}

// --- frames --------------------------------------------------------------------------------------

Execution::Place Session::frame() const {
  if (execution_.state() == State::kEnded)
    throw Refused("the program has ended, so there are no frames; `restart` runs it from the beginning");
  size_t count = 0;
  std::vector<Execution::Place> frames = execution_.frames(frame_ + 1, count);
  if (frames.size() <= frame_) throw Refused("the program failed before it began, so there are no frames");
  return frames[frame_];
}

void Session::backtrace(std::string_view arguments) {
  const uint64_t most = count_of(arguments, kMostFrames, "backtrace");
  frame();
  size_t count = 0;
  const std::vector<Execution::Place> frames = execution_.frames(most, count);
  for (size_t i = 0; i < frames.size(); ++i) {
    out_ += cat(i == frame_ ? "> " : "  ", "#", i, " ", place(i, frames[i]));
  }
  if (count > frames.size()) out_ += cat("  and ", count - frames.size(), " more\n");
}

void Session::choose(uint64_t number) {
  frame_ = number;
  out_ += cat("frame ", frame_, ": ", place(frame_, frame()));
}

void Session::up(std::string_view arguments) {
  const uint64_t n = count_of(arguments, 1, "up");
  frame();
  size_t count = 0;
  execution_.frames(0, count);
  if (n > count - 1 - frame_)
    throw Refused(cat("there ", count == 1 ? "is only 1 frame" : cat("are only ", count, " frames"),
                      ", and this is number ", frame_));
  choose(frame_ + n);
}

void Session::down(std::string_view arguments) {
  const uint64_t n = count_of(arguments, 1, "down");
  frame();
  if (n > frame_) throw Refused(cat("this is frame ", frame_, ", and 0 is the innermost"));
  choose(frame_ - n);
}

void Session::where(std::string_view arguments) {
  if (!arguments.empty()) throw Refused("`where` takes no arguments; `list LINE` shows another place");
  out_ += standing();
}

// --- the text ------------------------------------------------------------------------------------

uint32_t Session::file() const {
  const auto of = [](Expr e) { return e && e->kind != ExprKind::kVar ? e->span.file : 0; };
  size_t count = 0;
  const std::vector<Execution::Place> frames = execution_.frames(frame_ + 1, count);
  if (frames.size() > frame_ && of(frames[frame_].e)) return of(frames[frame_].e);
  // The text of an ONNX model has no line for the function.
  const Fn* fn = program_.module().function(function_);
  return of(fn) || !fn ? of(fn) : of(fn->body);
}

void Session::list(std::string_view arguments) {
  uint32_t in = file();
  uint64_t current = 0, middle = 0;
  if (stands()) {
    const Execution::Place at = frame();
    const Expr e = at_start(frame_) ? at.fn() : at.e;
    if (e->span.known() && e->kind != ExprKind::kVar)
      current = program_.sources().position(e->span.file, e->span.begin).line;
  }
  middle = current;
  if (arguments.starts_with('@')) {
    const Fn* fn = program_.module().function(arguments.substr(1));
    if (!fn) throw Refused(no_such("function", arguments, function_names(program_.module())));
    if (!fn->span.known()) throw Refused(cat("`", arguments, "` stands in no text"));
    if (fn->span.file != in) current = 0;
    in = fn->span.file;
    middle = program_.sources().position(in, fn->span.begin).line;
  } else if (!arguments.empty()) {
    const std::optional<uint64_t> line = whole_number(arguments);
    if (!line)
      throw Refused(cat("`", arguments, "` is no line and no function: say `list 12` or `list @main`"));
    middle = *line;
  }
  if (in == 0) throw Refused("the program stands in no text");
  if (middle == 0) middle = 1;
  const std::string text = program_.listing(in, middle, kLinesAround, current);
  if (text.empty()) throw Refused(cat(program_.sources().name(in), " has no line ", middle));
  out_ += text;
}

}  // namespace relay::tools::debug
