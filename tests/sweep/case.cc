#include "tests/sweep/case.h"

#include <map>

#include "base/cat.h"
#include "interp/machine.h"
#include "ir/builder.h"
#include "op/operators.h"
#include "tests/sweep/propose.h"
#include "tests/sweep/values.h"
#include "typecheck/check.h"

namespace relay::sweep {
namespace {

using property::ByteSource;

constexpr uint64_t kMostBytes = uint64_t{2} << 30;  // that a run may take
constexpr int kWays = 3;                            // of making extents symbolic that are tried

// Which extents are shape variables: a variable for each, or none.
struct Symbols {
  std::vector<std::vector<std::optional<size_t>>> of;  // by operand and axis
  std::vector<int64_t> extents;                        // by variable
};

std::vector<Operand*> operands_of(Draft& d) {
  std::vector<Operand*> out;
  for (Argument& a : d.args) {
    for (Operand& o : a.operands) out.push_back(&o);
  }
  return out;
}

// Equal extents mostly are one variable; `apart` makes each a variable of its own.
Symbols draw_symbols(Draft& d, ByteSource& in, bool apart) {
  Symbols out;
  std::map<int64_t, size_t> known;
  for (const Operand* o : operands_of(d)) {
    auto& axes = out.of.emplace_back();
    for (const int64_t extent : o->shape) {
      axes.emplace_back();
      const bool usual = extent > 1;
      if (usual ? in.below(4) == 3 : in.below(4) != 3) continue;
      const auto it = known.find(extent);
      if (it != known.end() && !apart) {
        axes.back() = it->second;
        continue;
      }
      axes.back() = out.extents.size();
      known[extent] = out.extents.size();
      out.extents.push_back(extent);
    }
  }
  return out;
}

// Other extents than those that the draft was made for.
void draw_extents(Symbols& symbols, ByteSource& in) {
  for (int64_t& extent : symbols.extents) {
    const uint32_t how = in.below(4);
    if (how == 1) extent = draw_extent(in);
    if (how == 2) extent = std::max<int64_t>(0, extent - 1 - in.below(3));
    if (how == 3) extent += 1 + in.below(3);
  }
}

class Maker {
 public:
  Maker(const Module& empty, const Draft& draft, ByteSource& in, size_t id)
      : module_(empty), context_(empty.context()), b_(context_), draft_(draft), in_(in), id_(id) {}

  // With these symbols. Returns the checker's words if it refuses.
  std::string program(const Symbols* symbols) {
    params_.clear();
    constants_.clear();
    std::vector<Expr> args;
    size_t next = 0;
    for (const Argument& a : draft_.args) {
      std::vector<Expr> fields;
      for (const Operand& o : a.operands) fields.push_back(leaf(o, symbols, next++));
      args.push_back(a.is_tuple ? Expr(b_.tuple(fields)) : fields[0]);
    }
    const Expr call = b_.call(b_.op(*draft_.op), args, context_.intern_attrs(draft_.attrs));
    Module m = module_;
    m.set_function("main", b_.fn(params_, call));
    Diagnostics diagnostics;
    Result<Module> checked = typecheck::check(m, diagnostics);
    if (!checked) return diagnostics.all().front().message();
    made_ = std::move(*checked);
    return {};
  }

  const Module& made() const { return made_; }

  // Which operands are constants. Chosen once, so that all ways of making symbols agree.
  void choose_constants(bool none) {
    for (const Argument& a : draft_.args) {
      for (size_t i = 0; i < a.operands.size(); ++i) is_constant_.push_back(!none && in_.below(12) == 11);
    }
    for (const Argument& a : draft_.args) {
      for (const Operand& o : a.operands) values_.push_back(draw_values(*draft_.op, o, o.shape, in_));
    }
  }

  std::vector<Value> arguments(const Symbols* symbols) {
    std::vector<Value> out;
    size_t next = 0;
    for (const Argument& a : draft_.args) {
      for (const Operand& o : a.operands) {
        const size_t i = next++;
        if (is_constant_[i]) continue;
        Shape shape = o.shape;
        for (size_t axis = 0; symbols && axis < shape.size(); ++axis) {
          if (const auto& s = symbols->of[i][axis]) shape[axis] = symbols->extents[*s];
        }
        out.push_back(Value(shape == o.shape ? values_[i] : draw_values(*draft_.op, o, shape, in_)));
      }
    }
    return out;
  }

 private:
  Expr leaf(const Operand& o, const Symbols* symbols, size_t i) {
    if (is_constant_[i]) return b_.constant(values_[i]);
    std::vector<Dim> dims;
    for (size_t axis = 0; axis < o.shape.size(); ++axis) {
      const auto variable = symbols ? symbols->of[i][axis] : std::nullopt;
      dims.push_back(variable ? context_.shape_variable(cat("n", id_, "_", *variable)) : Dim(o.shape[axis]));
    }
    params_.push_back(b_.var(cat("x", params_.size()), context_.tensor_type(dims, o.dtype)));
    return params_.back();
  }

  Module module_, made_;
  Context& context_;
  Builder b_;
  const Draft& draft_;
  ByteSource& in_;
  const size_t id_;
  std::vector<const Var*> params_;
  std::vector<bool> is_constant_;
  std::vector<Tensor> values_;
  std::vector<Tensor> constants_;
};

// What the interpreter gives, and how far engines may be from it.
void interpret(Case& c) {
  interp::Options options;
  options.max_bytes = kMostBytes;
  c.want = driver::outcome_of([&] { return interp::Machine(c.module, options).call("main", c.args); });
  if (c.want.kind != driver::Outcome::Kind::kValue) return;
  c.wanted = driver::wanted_of(c.module, "main", c.args, c.want.value);
}

std::string literal(const Tensor& t, size_t axis, int64_t& next) {
  if (axis == t.rank()) {
    const int64_t i = next++;
    if (t.dtype().is_bool()) return t.get_int(i) ? "True" : "False";
    if (t.dtype().is_unsigned_int()) return cat(static_cast<uint64_t>(t.get_int(i)));
    if (t.dtype().is_int()) return cat(t.get_int(i));
    return cat(t.get(i));
  }
  std::string out = "[";
  for (int64_t i = 0; i < t.shape()[axis]; ++i) out += cat(i ? ", " : "", literal(t, axis + 1, next));
  return out + "]";
}

}  // namespace

Case make_case(const Module& empty, const std::vector<Seed>& seeds, const property::Bytes& bytes, size_t id) {
  ByteSource in(bytes);
  Draft draft = propose(empty.context(), seeds, in);
  Case out;
  const bool wants_symbols = in.below(2) == 1;
  Maker maker(empty, draft, in, id);
  maker.choose_constants(wants_symbols);
  std::optional<Symbols> symbols;
  for (int way = 0; wants_symbols && way < kWays && !symbols; ++way) {
    symbols = draw_symbols(draft, in, in.below(4) == 3);
    if (symbols->extents.empty() || !maker.program(&*symbols).empty()) symbols.reset();
  }
  if (symbols) {
    out.is_symbolic = true;
    if (in.below(2) == 1) draw_extents(*symbols, in);
  } else {
    out.wrong = maker.program(nullptr);
    if (!out.wrong.empty()) return out;
  }
  out.module = maker.made();
  out.args = maker.arguments(symbols ? &*symbols : nullptr);
  interpret(out);
  return out;
}

std::string reproducer(const Case& c, const std::string& about) {
  std::string args;
  for (const Value& v : c.args) {
    int64_t next = 0;
    args += cat(args.empty() ? "" : ", ", literal(v.tensor(), 0, next));
  }
  return cat("RUN exec\n", about, "\n---- input\n", op::text_of(c.module, {}), "---- calls\n@main(", args,
             ") agrees\n");
}

}  // namespace relay::sweep
