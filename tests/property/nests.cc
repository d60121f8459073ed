#include "tests/property/nests.h"

#include "op/operators.h"
#include "op/ops.h"

namespace relay::property {
namespace {

const Constructor& constructor(Module& m, std::string_view name) {
  if (const Constructor* known = m.constructor(name)) return *known;
  Context& c = m.context();
  std::vector<const Constructor*> ctors;
  for (const char* ctor : {"Zero", "Succ"}) {
    std::vector<Type> fields;
    if (!ctors.empty()) fields.push_back(c.data_type("Nat", {}));
    ctors.push_back(c.arena().make<Constructor>(Constructor{
        c.symbol(ctor), c.symbol("Nat"), static_cast<uint32_t>(ctors.size()), c.arena().list(fields), {}}));
  }
  m.set_data_type(c.arena().make<DataTypeDef>(DataTypeDef{c.symbol("Nat"), {}, c.arena().list(ctors)}));
  return constructor(m, name);
}

Expr one(Builder& b) { return b.scalar(kFloat32, 1); }
Expr truth(Builder& b) { return b.scalar(kBool, 1); }
Expr number(Builder& b, Module&) { return one(b); }
Expr condition(Builder& b, Module&) { return truth(b); }
Expr cell(Builder& b, Module&) { return b.ref_new(one(b)); }
Expr function(Builder& b, Module&) { return b.fn({}, one(b)); }
Expr zero(Builder& b, Module& m) { return b.call(b.ctor(constructor(m, "Zero")), {}); }

Expr in_operator(Builder& b, Module&, Expr e) { return b.call(b.op(op::kMaximum), {e, one(b)}); }
Expr in_second_operand(Builder& b, Module&, Expr e) { return b.call(b.op(op::kMaximum), {one(b), e}); }
Expr in_argument(Builder& b, Module&, Expr e) {
  const Var* x = b.var("x");
  return b.call(b.fn(std::vector<const Var*>{x}, x), {e});
}
Expr in_callee(Builder& b, Module&, Expr e) { return b.fn({}, b.call(e, {})); }
Expr in_curried_callee(Builder& b, Module&, Expr e) { return b.call(b.fn({}, e), {}); }
Expr in_field(Builder& b, Module& m, Expr e) { return b.call(b.ctor(constructor(m, "Succ")), {e}); }
Expr in_tuple(Builder& b, Module&, Expr e) { return b.tuple({e}); }
Expr in_shared_tuple(Builder& b, Module&, Expr e) { return b.proj(b.tuple({e, e}), 1); }  // 2^depth paths
Expr in_function(Builder& b, Module&, Expr e) { return b.fn({}, e); }
Expr in_let_value(Builder& b, Module&, Expr e) {
  const Var* x = b.var("x");
  return b.let(x, e, x);
}
Expr in_let_body(Builder& b, Module&, Expr e) { return b.let(b.var("x"), one(b), e); }
Expr in_let_function(Builder& b, Module&, Expr e) {
  const Var* f = b.var("f");
  return b.let(f, b.fn({}, e), b.call(f, {}));
}
Expr in_condition(Builder& b, Module&, Expr e) { return b.if_(e, truth(b), b.scalar(kBool, 0)); }
Expr in_then(Builder& b, Module&, Expr e) { return b.if_(truth(b), e, one(b)); }
Expr in_else(Builder& b, Module&, Expr e) { return b.if_(b.scalar(kBool, 0), one(b), e); }
Expr in_matched(Builder& b, Module&, Expr e) {
  const Var* x = b.var("x");
  return b.match(b.tuple({e}), std::vector<Arm>{{b.tuple_pattern(std::vector<Pattern>{b.bind(x)}), x}}, true);
}
Expr in_arm(Builder& b, Module&, Expr e) {
  return b.match(one(b), std::vector<Arm>{{b.wildcard(), e}}, true);
}
Expr in_cell(Builder& b, Module&, Expr e) { return b.ref_new(e); }
Expr in_read(Builder& b, Module&, Expr e) { return b.ref_read(b.ref_new(e)); }
Expr in_written_cell(Builder& b, Module&, Expr e) { return b.proj(b.tuple({b.ref_write(e, one(b)), e}), 1); }
Expr in_written_value(Builder& b, Module&, Expr e) {
  const Var* x = b.var("x");
  return b.let(x, b.ref_new(one(b)), b.proj(b.tuple({b.ref_write(x, e), b.ref_read(x)}), 1));
}

}  // namespace

std::vector<Nest> nests() {
  constexpr bool kGraph = true;
  return {Nest{"operand", number, in_operator, kDeep, true, kGraph},
          Nest{"second_operand", number, in_second_operand, kDeep, true, kGraph},
          Nest{"argument", number, in_argument},
          Nest{"callee", function, in_callee, kDeep, false},
          Nest{"curried_callee", number, in_curried_callee},
          Nest{"field", zero, in_field},
          Nest{"tuple", number, in_tuple, kDeep, true, kGraph},
          Nest{"shared_tuple", number, in_shared_tuple, kDeep, true, kGraph},
          Nest{"function", number, in_function, kDeep, false},
          Nest{"let_value", number, in_let_value},
          Nest{"let_body", number, in_let_body},
          Nest{"let_function", number, in_let_function},
          Nest{"condition", condition, in_condition, kDeep, false},
          Nest{"then_branch", number, in_then, kDeep, false},
          Nest{"else_branch", number, in_else, kDeep, false},
          Nest{"matched", number, in_matched, kDeep, false},
          Nest{"arm", number, in_arm, kDeep, false},
          Nest{"cell", number, in_cell, kDeep, false},
          Nest{"read", number, in_read},
          Nest{"written_cell", cell, in_written_cell, kDeep, false},
          Nest{"written_value", number, in_written_value, kDeep, false},
          Nest{"long_chain_of_operators", number, in_operator, kLong, true, kGraph},
          Nest{"long_chain_of_lets", number, in_let_body, kLong},
          Nest{"long_chain_of_shared_tuples", number, in_shared_tuple, kLong, true, kGraph}};
}

Module program_of(const Nest& nest, int times) {
  Module m;
  Builder b(m.context());
  Expr e = nest.start(b, m);
  for (int i = 0; i < times; ++i) e = nest.wrap(b, m, e);
  m.set_function("main", b.fn({}, e));
  return m;
}

std::string inside(Value v) {
  while (!v.is_tensor() && v.kind() != ValueKind::kClosure) {
    if (v.kind() == ValueKind::kCell) {
      v = Value(v.contents());
    } else if (v.fields().empty()) {
      return "Zero";
    } else {
      v = Value(v.fields()[v.fields().size() - 1]);
    }
  }
  return v.is_tensor() ? (v.tensor().get(0) == 1 ? "1" : "another number") : "function";
}

}  // namespace relay::property
