#include "tools/debug/trace.h"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/cat.h"
#include "base/counted.h"
#include "base/file.h"
#include "base/json_text.h"
#include "op/registry.h"
#include "tools/debug/refused.h"
#include "tools/debug/statistics.h"
#include "tools/debug/words.h"

namespace relay::tools::debug {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kMostBytes = uint64_t{1} << 30;
// Of one value: more than tensors_in() gives with shapes of some hundred dimensions.
constexpr size_t kLongestLine = size_t{1} << 26;
constexpr int kVersion = 1;

// JSON has no numbers for these.
Json number(double v) {
  if (std::isfinite(v)) return v;
  return std::isnan(v) ? "nan" : v > 0 ? "inf" : "-inf";
}

double number_of(const Json& j, const char* name) {
  const auto it = j.find(name);
  if (it == j.end()) return NAN;
  if (it->is_number()) return it->get<double>();
  return *it == "inf" ? INFINITY : *it == "-inf" ? -INFINITY : NAN;
}

Json tensor(const Tensor& t) {
  const Statistics s = statistics_of(t);
  return {{"dtype", t.dtype().name()},
          {"shape", t.shape()},
          {"checksum", fmt::format("{:016x}", checksum(t))},
          {"min", number(s.min)},
          {"max", number(s.max)},
          {"mean", number(s.mean)},
          {"std", number(s.std)},
          {"nan", s.nan},
          {"inf", s.inf},
          {"zero", s.zero}};
}

// What made a value: the operator, the kernel; empty for what no engine could get wrong.
std::string made_by(Expr e) {
  const auto* call = e->as<Call>();
  if (!call || call->callee->kind == ExprKind::kCtorRef) return "";
  if (const op::OpDef* def = op::callee(*call)) return def->name;
  const auto* global = call->callee->as<Global>();
  return global ? cat("@", global->name.text()) : std::string("call");
}

std::string span_text(const Program& program, Expr e) {
  if (!e->span.known()) return "";
  const auto at = program.sources().position(e->span.file, e->span.begin);
  return cat(program.sources().name(e->span.file), ":", at.line, ":", at.column);
}

Json entry(const Program& program, Expr e, const Value& v) {
  Json tensors = Json::array();
  for (const Tensor* t : tensors_in(v)) tensors.push_back(tensor(*t));
  return {{"operator", made_by(e)}, {"span", span_text(program, e)}, {"tensors", tensors}};
}

std::string line_of(const Json& j) { return json_text(j) + "\n"; }

// A file may have anything in the place of a number or a shape, nested as deeply as it likes:
// that is not printed.
std::string plain(const Json& j) {
  if (j.is_string()) return j.get<std::string>();
  if (j.is_number_float()) return fmt::format("{:g}", j.get<double>());
  if (j.is_number()) return json_text(j);
  if (!j.is_array() || !std::all_of(j.begin(), j.end(), [](const Json& n) { return n.is_number_integer(); }))
    return "?";
  return relay::show(j.get<Shape>());
}

std::string show(const Json& t) {
  const auto field = [&](const char* name) {
    const auto it = t.find(name);
    return it == t.end() ? std::string("?") : plain(*it);
  };
  return cat("Tensor[", field("shape"), ", ", field("dtype"), "]: min ", field("min"), ", max ", field("max"),
             ", mean ", field("mean"), ", std ", field("std"), ", nan ", field("nan"), ", inf ", field("inf"),
             ", checksum ", field("checksum"));
}

Json end_of(const Execution& e) {
  switch (e.state()) {
    case Execution::State::kTrapped: return {{"end", "trap"}, {"message", e.message()}};
    case Execution::State::kExhausted: return {{"end", "exhausted"}, {"message", e.message()}};
    default: break;
  }
  Json tensors = Json::array();
  for (const Tensor* t : tensors_in(e.value())) tensors.push_back(tensor(*t));
  return {{"end", "value"}, {"tensors", tensors}};
}

bool close(double a, double b, double scale, double tolerance) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) == std::isnan(b);
  return a == b || std::abs(a - b) <= tolerance * scale;
}

std::string text_of(const Json& j, const char* name) {
  const auto it = j.find(name);
  return it != j.end() && it->is_string() ? it->get<std::string>() : "";
}

const Json& tensors_of(const Json& j) {
  static const Json none = Json::array();
  const auto it = j.find("tensors");
  return it != j.end() && it->is_array() ? *it : none;
}

}  // namespace

// --- recording -----------------------------------------------------------------------------------

Recorder::Recorder(const Program& program, const std::string& function) : program_(program) {
  text_ = line_of({{"relay_trace", kVersion}, {"function", function}});
}

void Recorder::add(Expr e, const Value& v) {
  if (made_by(e).empty()) return;
  const std::string line = line_of(entry(program_, e, v));
  if (line.size() > kLongestLine)
    throw Refused(cat("what a trace says of the value of ", program_.describe(e), " is longer than ",
                      kLongestLine >> 20, " MiB"));
  text_ += line;
  ++values_;
}

bool Recorder::too_large() const { return text_.size() > kMostBytes; }

void Recorder::write(const std::string& path, const Execution& ended) {
  if (too_large())
    throw Refused(cat("the trace is larger than ", kMostBytes >> 20, " MiB after ", counted(values_, "value"),
                      " and is not kept: record a shorter run"));
  text_ += line_of(end_of(ended));
  if (std::string wrong = write_file_atomically(path, text_); !wrong.empty()) throw Refused(wrong);
}

// --- replaying -----------------------------------------------------------------------------------

Replayer::Replayer(const Program& program, const std::string& path, std::optional<double> tolerance)
    : program_(program), path_(path), tolerance_(tolerance) {
  if (std::string wrong = read_file(path, kMostBytes, text_); !wrong.empty()) throw Refused(wrong);
  const std::optional<Json> head = line();
  const auto version = head ? head->find("relay_trace") : Json::const_iterator();
  if (!head || version == head->end()) malformed("it is no trace: `record FILE` makes one");
  if (*version != kVersion)
    malformed(cat("its version is ", plain(*version), ", this program reads ", kVersion));
}

void Replayer::malformed(const std::string& why) const { throw Refused(cat(path_, ":", line_, ": ", why)); }

std::optional<Json> Replayer::line() {
  if (at_ >= text_.size()) return std::nullopt;
  const size_t end = std::min(text_.find('\n', at_), text_.size());
  const std::string_view text = std::string_view(text_).substr(at_, end - at_);
  at_ = end + 1;
  ++line_;
  if (text.size() > kLongestLine) malformed("the line is too long for a trace");
  Json j = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!j.is_object()) malformed("the line is no JSON object");
  return j;
}

bool Replayer::same_tensor(const Json& was, const Json& is) const {
  if (!was.is_object()) malformed("a tensor is no JSON object");
  const auto equal = [&](const char* name) {
    const auto it = was.find(name);
    return it != was.end() && *it == is.at(name);
  };
  if (!equal("dtype") || !equal("shape")) return false;
  if (!tolerance_) return equal("checksum");
  if (!equal("nan") || !equal("inf")) return false;
  double scale = 0;
  for (const char* name : {"min", "max"}) {
    for (const Json* j : {&was, &is}) {
      const double v = std::abs(number_of(*j, name));
      if (std::isfinite(v)) scale = std::max(scale, v);
    }
  }
  for (const char* name : {"min", "max", "mean", "std"}) {
    if (!close(number_of(was, name), number_of(is, name), scale, *tolerance_)) return false;
  }
  return true;
}

bool Replayer::differs(Expr e, const Value& v) {
  const std::string maker = made_by(e);
  if (maker.empty()) return false;
  const std::optional<Json> was = line();
  const auto say = [&](const std::string& text) {
    difference_ = text;
    return true;
  };
  if (!was) malformed(cat("the trace is cut off after ", counted(values_, "value")));
  if (was->contains("end"))
    return say(cat("the trace ends (", text_of(*was, "end"), ") after ", counted(values_, "value"),
                   ", the program goes on\n"));
  const Json is = entry(program_, e, v);
  const std::string before = text_of(*was, "operator"), at = text_of(*was, "span");
  const std::string where = cat("value ", values_ + 1, " of the trace, `", before, "`",
                                at.empty() ? std::string() : cat(" at ", at));
  if (before != maker) return say(cat(where, ": the program evaluates `", maker, "`\n"));
  const Json &then = tensors_of(*was), &now = tensors_of(is);
  if (then.size() != now.size())
    return say(cat(where, ": ", counted(then.size(), "tensor"), " then, ", now.size(), " now\n"));
  for (size_t i = 0; i < now.size(); ++i) {
    if (!same_tensor(then[i], now[i]))
      return say(cat(where, " differs\n  trace ", show(then[i]), "\n  now   ", show(now[i]), "\n"));
  }
  ++values_;
  return false;
}

bool Replayer::ends_differently(const Execution& ended) {
  const std::optional<Json> was = line();
  if (!was) malformed(cat("the trace is cut off after ", counted(values_, "value")));
  const auto say = [&](const std::string& text) {
    difference_ = text;
    return true;
  };
  const Json is = end_of(ended);
  const std::string then = text_of(*was, "end"), now = text_of(is, "end");
  if (then.empty())
    return say(cat("the program ends (", now, ") after ", counted(values_, "value"),
                   ", the trace goes on with `", text_of(*was, "operator"), "` at ", text_of(*was, "span"),
                   "\n"));
  if (then != now || text_of(*was, "message") != text_of(is, "message"))
    return say(cat("the end differs\n  trace ", then, " ", text_of(*was, "message"), "\n  now   ", now, " ",
                   text_of(is, "message"), "\n"));
  const Json &a = tensors_of(*was), &b = tensors_of(is);
  bool same = a.size() == b.size();
  for (size_t i = 0; same && i < b.size(); ++i) same = same_tensor(a[i], b[i]);
  return !same && say("the program's value differs, though all that operators made is the same\n");
}

}  // namespace relay::tools::debug
