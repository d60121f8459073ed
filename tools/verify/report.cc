#include "tools/verify/report.h"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/cat.h"

namespace relay::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;
constexpr size_t kLongestCall = 160;

// JSON has no numbers for these.
Json number(double v) {
  if (std::isfinite(v)) return v;
  return std::isnan(v) ? "nan" : v > 0 ? "inf" : "-inf";
}

Json json_of(const driver::VerifyRow& r) {
  Json j = {{"engine", r.engine}};
  j["level"] = r.level ? Json(*r.level) : Json();
  const driver::Verdict verdict = r.verdict();
  j["verdict"] = name(verdict);
  if (verdict == driver::Verdict::kSkipped) {
    j["reason"] = r.skipped;
    j["slug"] = r.slug;
    return j;
  }
  if (verdict == driver::Verdict::kFailed) j["reason"] = r.failed;
  if (r.level) {
    j["not_lowered"] = r.weaker;
    j["interpreted_calls"] = r.interpreted_calls;
  }
  j["prepare_seconds"] = r.prepare_seconds;
  j["seconds"] = r.seconds;
  if (r.output.empty()) return j;  // nothing was compared
  j["output"] = r.output;
  j["error"] = number(r.worst.error);
  j["bound"] = number(r.worst.bound);
  j["needed"] = number(r.worst.needed);
  j["index"] = r.worst.worst;
  j["got"] = number(r.worst.got);
  j["wanted"] = number(r.worst.want);
  j["ulps"] = number(r.worst.ulps);
  return j;
}

Json json_of(const std::vector<driver::VerifyRow>& rows) {
  Json out = Json::array();
  for (const driver::VerifyRow& r : rows) out.push_back(json_of(r));
  return out;
}

Json json_of(const TensorRow& t) {
  Json j = {{"name", t.name},
            {"shape", t.shape},
            {"verdict", t.ok()              ? "agrees"
                        : t.problem.empty() ? "differs"
                                            : "failed"}};
  if (!t.problem.empty()) {
    j["reason"] = t.problem;
    return j;
  }
  j["error"] = number(t.worst.error);
  j["bound"] = number(t.worst.bound);
  j["needed"] = number(t.worst.needed);
  j["index"] = t.worst.worst;
  j["theirs"] = number(t.worst.got);
  j["ours"] = number(t.worst.want);
  return j;
}

Json json_of(const OperatorReport& report) {
  Json list = Json::array();
  for (const OperatorRow& o : report.operators) {
    list.push_back({{"operator", o.op},
                    {"name", o.value},
                    {"at", o.place.empty() ? o.value : o.place},
                    {"arguments", o.arguments},
                    {"result", o.result},
                    {"attributes", o.attributes},
                    {"evaluated", o.evaluated},
                    {"compared", o.compared},
                    {"engines", json_of(o.rows)}});
  }
  return {{"evaluated", report.evaluated}, {"stopped", report.stopped}, {"list", list}};
}

std::string_view verdict_of(const ProgramReport& p) {
  if (p.not_run != 0) return "not run";
  return p.ok() ? "agrees" : "differs";
}

std::string cut(const std::string& text, size_t most) {
  return text.size() <= most ? text : text.substr(0, most) + "...";
}

// The row of a compiled engine whose difference a pass made, as each operator agrees by itself;
// null if the interpreter differs too, or a note says why the program's numbers may.
const driver::VerifyRow* row_of_a_pass(const ProgramReport& p) {
  if (!p.operators || !p.operators->ok() || !p.notes.empty()) return nullptr;
  const driver::VerifyRow* found = nullptr;
  for (const driver::VerifyRow& r : p.rows) {
    if (r.ok || r.engine == driver::kExpected) continue;
    if (!r.level) return nullptr;
    if (!found) found = &r;
  }
  return found;
}

}  // namespace

bool ProgramReport::ok() const {
  return std::all_of(rows.begin(), rows.end(), [](const driver::VerifyRow& r) { return r.ok; }) &&
         std::all_of(tensors.begin(), tensors.end(), [](const TensorRow& t) { return t.ok(); }) &&
         (!operators || operators->ok());
}

void VerifyReport::Tally::add(driver::Verdict verdict) {
  switch (verdict) {
    case driver::Verdict::kAgrees: ++agreed; break;
    case driver::Verdict::kDiffers: ++differed; break;
    case driver::Verdict::kFailed: ++failed; break;
    case driver::Verdict::kSkipped: ++skipped; break;
  }
}

bool VerifyReport::ok() const {
  return std::all_of(programs_.begin(), programs_.end(), [](const ProgramReport& p) { return p.ok(); });
}

bool VerifyReport::ran() const {
  return std::any_of(programs_.begin(), programs_.end(),
                     [](const ProgramReport& p) { return p.not_run == 0; });
}

VerifyReport::Summary VerifyReport::summary() const {
  Summary out;
  std::map<std::string, size_t> known;
  for (const ProgramReport& p : programs_) {
    out.not_run += p.not_run != 0;
    for (const driver::VerifyRow& r : p.rows) {
      const auto [it, fresh] = known.emplace(r.label(), out.engines.size());
      if (fresh) out.engines.emplace_back(r.label(), Tally());
      out.engines[it->second].second.add(r.verdict());
      if (r.skipped.empty()) continue;
      Reason& reason = out.reasons[r.skipped];
      reason.slug = r.slug;
      ++reason.count;
      ++reason.engines[r.engine];
    }
  }
  return out;
}

std::string VerifyReport::show(const Summary& s, size_t programs) {
  std::string out = cat(
      "\n", programs, " programs", s.not_run > 0 ? cat(", ", s.not_run, " of them not run") : "",
      fmt::format("\n{:<14} {:>7} {:>7} {:>7} {:>7}\n", "engine", "agree", "differ", "failed", "skipped"));
  for (const auto& [engine, t] : s.engines)
    out += fmt::format("{:<14} {:>7} {:>7} {:>7} {:>7}\n", engine, t.agreed, t.differed, t.failed, t.skipped);
  if (s.reasons.empty()) return out;
  // Reasons name types and operators of the program: those of one kind together, with one of them.
  struct Kind {
    size_t count = 0, reasons = 0;
    std::map<std::string, size_t> engines;
    std::string often;  // the reason with the largest count
    size_t how_often = 0;
  };
  std::map<std::string, Kind> kinds;
  for (const auto& [text, reason] : s.reasons) {
    Kind& k = kinds[reason.slug.empty() ? text : reason.slug];
    k.count += reason.count;
    ++k.reasons;
    for (const auto& [engine, count] : reason.engines) k.engines[engine] += count;
    if (reason.count > std::exchange(k.how_often, std::max(k.how_often, reason.count))) k.often = text;
  }
  out += "skipped:\n";
  for (const auto& [kind, k] : kinds) {
    out += fmt::format("{:>7}  {}: {}{}\n", k.count,
                       join(k.engines, ", ", [](const auto& e) { return e.first; }),
                       kind == k.often ? "" : cat("[", kind, "] "),
                       k.reasons == 1 ? k.often : cat(k.reasons, " reasons; most often: ", k.often));
  }
  return out;
}

// The programs of one file: how many rows agree, and in full what does not.
std::string VerifyReport::text_of_file(size_t begin, size_t end) const {
  Tally total;
  std::string wrong;
  size_t operators = 0;
  for (size_t i = begin; i < end; ++i) {
    const ProgramReport& p = programs_[i];
    const std::string what = p.call.empty() ? "" : cat("  ", cut(p.call, kLongestCall), "\n");
    bool said = what.empty();
    for (const std::string& note : p.notes) wrong += cat("    note: ", note, "\n");
    for (const driver::VerifyRow& r : p.rows) {
      total.add(r.verdict());
      if (r.ok) continue;
      if (!std::exchange(said, true)) wrong += what;
      wrong += cat("    ", r.label(), ": ", name(r.verdict()), ": ", r.trouble(), "\n");
    }
    if (!p.tensors.empty()) wrong += relay::tools::show(p.tensors);
    if (!p.operators) continue;
    operators += p.operators->operators.size();
    if (p.operators->ok()) continue;
    if (!said) wrong += what;
    wrong += relay::tools::show(*p.operators);
  }
  const auto part = [](size_t count, std::string_view of) {
    return count > 0 ? cat(", ", count, " ", of) : std::string();
  };
  const ProgramReport& first = programs_[begin];
  if (first.not_run != 0) return cat(first.program, ": not run\n");
  return cat(first.program, ": ", total.agreed, " agree", part(total.differed, "DIFFER"),
             part(total.failed, "FAILED"), part(total.skipped, "skipped"),
             part(operators, "operators by themselves"), "\n", wrong);
}

std::string VerifyReport::text() const {
  if (programs_.size() == 1 && programs_[0].call.empty()) {
    const ProgramReport& p = programs_[0];
    std::string out = driver::show(p.rows);
    for (const std::string& note : p.notes) out += cat("note: ", note, "\n");
    if (!p.tensors.empty()) out += cat("\n", relay::tools::show(p.tensors));
    if (!p.operators) return out;
    out += cat("\n", relay::tools::show(*p.operators));
    if (const driver::VerifyRow* wrong = row_of_a_pass(p))
      out += cat("every operator agrees by itself, so a pass makes the difference: `relay opt ", p.program,
                 " -O", *wrong->level, " --verify=semantics` names it\n");
    return out;
  }
  std::string out;
  for (size_t begin = 0, end = 0; begin < programs_.size(); begin = end) {
    while (end < programs_.size() && programs_[end].program == programs_[begin].program) ++end;
    out += text_of_file(begin, end);
  }
  return out + show(summary(), programs_.size());
}

Json VerifyReport::json() const {
  Json programs = Json::array();
  for (const ProgramReport& p : programs_) {
    Json j = {{"program", p.program}};
    if (!p.call.empty()) j["call"] = p.call;
    j["verdict"] = verdict_of(p);
    if (p.not_run != 0) j["exit_code"] = p.not_run;
    if (!p.notes.empty()) j["notes"] = p.notes;
    j["engines"] = json_of(p.rows);
    for (const TensorRow& t : p.tensors) j["tensors"].push_back(json_of(t));
    if (p.operators) j["operators"] = json_of(*p.operators);
    programs.push_back(std::move(j));
  }
  const Summary s = summary();
  Json engines = Json::array(), reasons = Json::array();
  for (const auto& [engine, t] : s.engines) {
    engines.push_back({{"engine", engine},
                       {"agreed", t.agreed},
                       {"differed", t.differed},
                       {"failed", t.failed},
                       {"skipped", t.skipped}});
  }
  for (const auto& [reason, tally] : s.reasons)
    reasons.push_back(
        {{"reason", reason}, {"slug", tally.slug}, {"count", tally.count}, {"engines", tally.engines}});
  return {
      {"relay_verify", kVersion},
      {"verdict", ok() ? "agrees" : "differs"},
      {"summary",
       {{"programs", programs_.size()}, {"not_run", s.not_run}, {"engines", engines}, {"skipped", reasons}}},
      {"programs", programs}};
}

}  // namespace relay::tools
