#include "tests/sweep/gradients.h"

#include <algorithm>
#include <cmath>

#include "base/cat.h"
#include "base/failure.h"
#include "ir/module.h"
#include "op/apply.h"
#include "op/testing.h"
#include "tests/sweep/adjoints.h"
#include "tests/sweep/propose.h"
#include "tests/sweep/values.h"

namespace relay::sweep {
namespace {

constexpr int64_t kMostElements = 64;  // floats of a call: each costs four evaluations

void widen(Context& context, Draft& d) {
  for (Argument& a : d.args) {
    for (Operand& o : a.operands) o.dtype = o.dtype.is_float() ? kFloat64 : o.dtype;
  }
  for (Attr& a : d.attrs) {
    if (a.value.kind != AttrKind::kString) continue;
    const std::optional<DType> named = DType::parse(a.value.string.text());
    if (named && named->is_float()) a.value = context.attr_value(kFloat64.name());
  }
}

// Numbers between the seed's least and largest, but hardly ever one of them: whole numbers, equal
// ones and the ends of domains are where there is no gradient.
Tensor between(const Operand& o, uint64_t seed) {
  double low = 0.25, high = 0.75;
  bool any = false;
  for (int64_t i = 0; i < o.values.size(); ++i) {
    const double v = o.values.get(i);
    if (!std::isfinite(v) || std::fabs(v) > 1e3) continue;
    low = any ? std::min(low, v) : v;
    high = any ? std::max(high, v) : v;
    any = true;
  }
  const double room = high > low ? (high - low) / 32 : std::max(std::fabs(low), 0.5) / 8;
  return op::testing::random(kFloat64, o.shape, seed, high > low ? low + room : low,
                             high > low ? high - room : low + room);
}

// A number that JSON has no word for is written as text.
std::string json_of(double v) { return std::isfinite(v) ? cat(v) : cat('"', v, '"'); }

std::string json_of(const Tensor& t) {
  if (!t.defined()) return "null";
  std::string values;
  for (int64_t i = 0; i < t.size(); ++i) values += cat(i ? "," : "", json_of(t.get(i)));
  return cat("{\"dtype\":\"", t.dtype().name(), "\",\"shape\":[",
             join(t.shape(), ",", [](int64_t d) { return cat(d); }), "],\"values\":[", values, "]}");
}

std::string json_of(const std::vector<Tensor>& all) {
  return cat("[", join(all, ",", [](const Tensor& t) { return json_of(t); }), "]");
}

std::string json_of(const AttrValue& v) {
  switch (v.kind) {
    case AttrKind::kBool: return v.boolean ? "true" : "false";
    case AttrKind::kInt: return cat(v.integer);
    case AttrKind::kFloat: return json_of(v.real);
    case AttrKind::kString: return cat('"', v.string.text(), '"');
    case AttrKind::kList:
      return cat("[", join(v.list, ",", [](const AttrValue& item) { return json_of(item); }), "]");
    default: return "null";
  }
}

std::string json_of(const Draft& d, const std::vector<Value>& args, const Derivative& of) {
  const auto argument = [](const Value& v) {
    return v.is_tensor() ? json_of(v.tensor()) : json_of(op::flatten(std::span(&v, 1)));
  };
  return cat(
      "{\"op\":\"", d.op->name, "\",\"attrs\":{",
      join(d.attrs, ",", [](const Attr& a) { return cat('"', a.name.text(), "\":", json_of(a.value)); }),
      "},\"args\":[", join(args, ",", argument), "],\"results\":", json_of(of.results),
      ",\"weights\":", json_of(of.weights), ",\"adjoints\":", json_of(of.adjoints), "}");
}

}  // namespace

GradientCall check_gradient(const std::vector<Seed>& seeds, const property::Bytes& bytes) {
  const Module empty;
  Context& context = empty.context();
  property::ByteSource in(bytes);
  Draft draft = propose(context, seeds, in);
  widen(context, draft);
  GradientCall out;
  if (!is_well_typed(context, draft)) {
    out.skipped = "not in float64";
    return out;
  }
  std::vector<Value> args;
  int64_t floats = 0;
  uint64_t seed = in.below(256) + 1;
  for (const Argument& a : draft.args) {
    std::vector<Value> fields;
    for (const Operand& o : a.operands) {
      fields.push_back(
          Value(o.dtype.is_float() ? between(o, ++seed) : draw_values(*draft.op, o, o.shape, in)));
      floats += o.dtype.is_float() ? fields.back().tensor().size() : 0;
    }
    args.push_back(a.is_tuple ? Value::tuple(std::move(fields)) : fields[0]);
  }
  const Attrs attrs = context.intern_attrs(draft.attrs);
  out.text =
      cat(draft.op->name, "(", join(types_of(context, draft), ", ", [](Type t) { return show(t, 80); }), ") ",
          join(draft.attrs, ", ", [](const Attr& a) { return cat(a.name.text(), "=", show(a.value)); }));
  if (floats == 0 || floats > kMostElements) {
    out.skipped = floats == 0 ? "no float" : "too many elements";
    return out;
  }
  try {
    const std::optional<Derivative> d = differentiate(context, *draft.op, args, attrs, out.skipped);
    if (!d) return out;
    out.wrong = compare_with_differences(context, *draft.op, args, attrs, *d, out.compared);
    out.json = json_of(draft, args, *d);
  } catch (const Trap&) {
    out.skipped = "a trap";
  } catch (const Exhausted&) {
    out.skipped = "a limit";
  } catch (const op::RelationError& refused) {
    out.skipped = cat("refused: ", refused.reason);
  }
  return out;
}

}  // namespace relay::sweep
