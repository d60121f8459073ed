#include "tests/sweep/seeds.h"

#include <filesystem>
#include <set>

#include "base/cat.h"
#include "interp/machine.h"
#include "op/apply.h"
#include "tools/test_files/test_file.h"
#include "tools/verify/exec_program.h"
#include "tools/verify/recorded_calls.h"

namespace relay::sweep {
namespace {

constexpr int64_t kMostElements = 2048;  // of an argument
constexpr size_t kMostSeeds = 48;

Operand operand_of(const Tensor& t) { return {t.dtype(), t.shape(), t}; }

bool is_small(const std::vector<Value>& args) {
  for (const Tensor& t : op::flatten(args)) {
    if (t.size() > kMostElements) return false;
  }
  return true;
}

Draft draft_of(const tools::RecordedCall& call) {
  Draft out{call.op, {}, {call.attrs.begin(), call.attrs.end()}};
  for (const Value& v : call.runs[0].args) {
    Argument a{!v.is_tensor(), {}};
    if (v.is_tensor()) {
      a.operands.push_back(operand_of(v.tensor()));
    } else {
      // A tuple within another is proposed as a part of that one.
      for (const Tensor& t : op::flatten(v.fields())) a.operands.push_back(operand_of(t));
    }
    out.args.push_back(std::move(a));
  }
  return out;
}

std::string key_of(const Draft& d) {
  std::string out;
  for (const Argument& a : d.args) {
    for (const Operand& o : a.operands) out += cat(o.dtype.name(), show(o.shape), ";");
    out += "|";
  }
  for (const Attr& a : d.attrs) out += cat(a.name.text(), "=", show(a.value), ";");
  return out;
}

AttrValue value_in(Context& context, const AttrValue& v) {
  AttrValue out = v;
  if (v.kind == AttrKind::kString) out.string = context.symbol(v.string.text());
  if (v.kind == AttrKind::kList) {
    std::vector<AttrValue> items;
    for (const AttrValue& item : v.list) items.push_back(value_in(context, item));
    out = context.attr_list(items);
  }
  return out;
}

}  // namespace

std::vector<Attr> attrs_in(Context& context, const std::vector<Attr>& attrs) {
  std::vector<Attr> out;
  for (const Attr& a : attrs) out.push_back({context.symbol(a.name.text()), value_in(context, a.value)});
  return out;
}

std::vector<Seed> seeds_of(const op::OpDef& op) {
  std::vector<Seed> out;
  const std::string path = cat("tests/exec/op/", op.name, ".relay");
  if (!std::filesystem::exists(path)) return out;
  const tools::ExecProgram program(path);
  if (!program.problem().empty()) return out;
  std::set<std::string> known;
  for (const std::string& line : program.calls()) {
    const tools::CallLine call = tools::parse_call(line);
    if (call.assertion == "rejected") continue;
    const std::vector<Value> args = program.arguments(call, 0);
    for (const tools::RecordedCall& c : tools::record_calls(program.module(), call.function, args).calls) {
      if (c.op != &op || out.size() == kMostSeeds || !is_small(c.runs[0].args)) continue;
      Draft draft = draft_of(c);
      if (known.insert(key_of(draft)).second)
        out.push_back({std::move(draft), program.module().shared_context()});
    }
  }
  return out;
}

}  // namespace relay::sweep
