#include "kernel/builder.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/cat.h"
#include "base/check.h"
#include "base/failure.h"
#include "kernel/simplify.h"
#include "kernel/statements.h"
#include "runtime/extremes.h"

namespace relay::kernel {
namespace {

// A nest of loops around a block under construction.
struct Nest {
  std::vector<BlockIter> iters;
  std::vector<Expr> loops;

  // Iteration variables `prefix`0, `prefix`1, ... each bound to a loop of its own.
  std::vector<Expr> add(ExprPool& pool, std::string_view prefix, const std::vector<Expr>& extents,
                        IterKind kind) {
    std::vector<Expr> vars;
    for (size_t d = 0; d < extents.size(); ++d) {
      const Expr loop = pool.variable(cat(prefix, d)), var = pool.variable(cat("v", prefix, d));
      loops.push_back(loop);
      iters.push_back({var, extents[d], kind, loop});
      vars.push_back(var);
    }
    return vars;
  }

  Stmt around(ExprPool& pool, Stmt body) const {
    for (size_t i = loops.size(); i-- > 0;) {
      body = make_for(pool.arena(), loops[i], iters[i].extent, ForKind::kSerial, body);
    }
    return body;
  }
};

// A block with other buffers in the places of its own, under another name.
Stmt moved_block(ExprPool& pool, const Block& b, std::string_view name,
                 const std::unordered_map<const Buffer*, const Buffer*>& now) {
  const auto statement = [&](Stmt s) -> Stmt {
    if (s == nullptr) return s;
    return move_elements(pool, s, [&](const Buffer* buffer, const std::vector<Expr>& at) {
      return std::optional<Element>({now.at(buffer), at});
    });
  };
  return make_block(pool, name, {b.iters.begin(), b.iters.end()}, b.predicate, statement(b.init),
                    statement(b.body));
}

bool surely_positive(Expr extent) {
  const Interval range = Bounds().of(extent);
  return range.low && *range.low >= 1;
}

}  // namespace

const Buffer* Builder::new_buffer(std::string_view name, DType dtype, std::vector<Expr> shape) {
  std::string unique(name);
  const auto taken = [&](const std::string& n) {
    return std::any_of(inputs_.begin(), inputs_.end(), [&](const Buffer* b) { return b->name == n; }) ||
           std::any_of(stages_.begin(), stages_.end(), [&](const Stage& s) { return s.buffer->name == n; });
  };
  for (int i = 1; taken(unique); ++i) unique = cat(name, "_", i);
  Arena& arena = pool_.arena();
  return arena.make<Buffer>(next_buffer_++, pool_.symbols().intern(unique), dtype, arena.list(shape),
                            Scope::kGlobal);
}

Tensor Builder::input(std::string_view name, DType dtype, std::vector<Expr> shape) {
  inputs_.push_back(new_buffer(name, dtype, std::move(shape)));
  return {inputs_.back(), &pool_};
}

Tensor Builder::compute(std::string_view name, DType dtype, std::vector<Expr> shape,
                        const std::function<Expr(Indices i)>& f) {
  const Buffer* buffer = new_buffer(name, dtype, shape);
  Nest nest;
  const std::vector<Expr> i = nest.add(pool_, "i", shape, IterKind::kSpatial);
  requirements_.clear();
  const Expr value = f(i);
  std::vector<Stmt> body = std::exchange(requirements_, {});
  body.push_back(make_store(pool_.arena(), buffer, i, value));
  Stmt block =
      make_block(pool_, buffer->name.text(), nest.iters, {}, nullptr, make_sequence(pool_.arena(), body));
  stages_.push_back({buffer, nest.around(pool_, block)});
  return {buffer, &pool_};
}

Tensor Builder::reduce(std::string_view name, DType dtype, std::vector<Expr> shape, std::vector<Expr> extents,
                       const Reducer& reducer, const std::function<Expr(Indices i, Indices r)>& f) {
  const Buffer* buffer = new_buffer(name, dtype, shape);
  Arena& arena = pool_.arena();
  Nest nest;
  const std::vector<Expr> i = nest.add(pool_, "i", shape, IterKind::kSpatial);
  const std::vector<Expr> r = nest.add(pool_, "r", extents, IterKind::kReduction);
  requirements_.clear();
  const Expr next = f(i, r);
  std::vector<Stmt> body = std::exchange(requirements_, {});
  const Expr so_far = pool_.load(buffer, i);
  body.push_back(make_store(arena, buffer, i, reducer.combine(so_far, next)));
  Stmt update = make_sequence(arena, body);
  Stmt init = make_store(arena, buffer, i, reducer.init);

  // A block's init runs at the first iteration, so a reduction over nothing would leave its
  // result undefined.
  if (std::all_of(extents.begin(), extents.end(), surely_positive)) {
    Stmt block = make_block(pool_, buffer->name.text(), nest.iters, {}, init, update);
    stages_.push_back({buffer, nest.around(pool_, block)});
    return {buffer, &pool_};
  }
  Nest first;
  const std::vector<Expr> j = first.add(pool_, "i", shape, IterKind::kSpatial);
  Stmt start = make_block(pool_, cat(buffer->name.text(), "_init"), first.iters, {}, nullptr,
                          make_store(arena, buffer, j, reducer.init));
  Stmt go_on = make_block(pool_, buffer->name.text(), nest.iters, {}, nullptr, update);
  stages_.push_back({buffer, make_sequence(arena, {first.around(pool_, start), nest.around(pool_, go_on)})});
  return {buffer, &pool_};
}

Tensor Builder::update(std::string_view name, DType dtype, std::vector<Expr> shape,
                       const std::function<Expr(Indices i)>& init, std::vector<Expr> extents,
                       const std::function<std::vector<Expr>(Indices r)>& where,
                       const std::function<Expr(Tensor self, Indices r)>& value) {
  const Buffer* buffer = new_buffer(name, dtype, shape);
  Arena& arena = pool_.arena();
  Nest first;
  const std::vector<Expr> i = first.add(pool_, "i", shape, IterKind::kSpatial);
  requirements_.clear();
  const Expr start = init(i);
  std::vector<Stmt> begin = std::exchange(requirements_, {});
  begin.push_back(make_store(arena, buffer, i, start));
  Stmt init_block = make_block(pool_, cat(buffer->name.text(), "_init"), first.iters, {}, nullptr,
                               make_sequence(arena, begin));

  Nest nest;
  const std::vector<Expr> r = nest.add(pool_, "r", extents, IterKind::kReduction);
  const std::vector<Expr> place = where(r);
  const Expr next = value({buffer, &pool_}, r);
  std::vector<Stmt> body = std::exchange(requirements_, {});
  body.push_back(make_store(arena, buffer, place, next));
  Stmt block = make_block(pool_, buffer->name.text(), nest.iters, {}, nullptr, make_sequence(arena, body));
  stages_.push_back(
      {buffer, make_sequence(arena, {first.around(pool_, init_block), nest.around(pool_, block)})});
  return {buffer, &pool_};
}

std::vector<Tensor> Builder::take_over(const Kernel& k, std::span<const Tensor> inputs,
                                       const std::unordered_map<const ExprNode*, Expr>& extents) {
  CHECK(inputs.size() == k.inputs.size(), "a tensor for each input");
  Arena& arena = pool_.arena();
  std::unordered_map<const Buffer*, const Buffer*> now;
  for (size_t i = 0; i < inputs.size(); ++i) now[k.inputs[i]] = inputs[i].buffer();
  std::vector<Stmt> nests{k.body};
  if (const auto* seq = k.body->as<Seq>()) nests.assign(seq->body.begin(), seq->body.end());
  const auto written_by = [](Stmt nest) { return blocks(nest)[0]->writes[0].buffer; };
  for (size_t i = 0; i < nests.size(); ++i) {
    const Buffer* buffer = written_by(nests[i]);
    const bool goes_on = now.contains(buffer);
    if (!goes_on) {
      std::vector<Expr> shape;
      for (Expr e : buffer->shape) shape.push_back(substitute(e, extents));
      now[buffer] = new_buffer(buffer->name.text(), buffer->dtype, shape);
    }
    const Buffer* to = now.at(buffer);
    const bool begins = i + 1 < nests.size() && written_by(nests[i + 1]) == buffer;
    const std::string name = cat(to->name.text(), begins ? "_init" : "");
    Stmt nest = refresh(pool_, substitute(arena, nests[i], extents));
    nest = rewrite(arena, nest, [&](Stmt s) -> Stmt {
      const auto* b = s->as<Block>();
      return b ? moved_block(pool_, *b, name, now) : s;
    });
    if (goes_on) {
      stages_.back().stmt = make_sequence(arena, {stages_.back().stmt, nest});
    } else {
      stages_.push_back({to, nest});
    }
  }
  std::vector<Tensor> out;
  for (const Buffer* b : k.outputs) out.push_back({now.at(b), &pool_});
  return out;
}

void Builder::require(Expr condition, std::string_view message) { add_requirement(condition, "", message); }

void Builder::require_shape(Expr condition, std::string_view message) {
  add_requirement(condition, kWrongShape, message);
}

void Builder::add_requirement(Expr condition, std::string_view kind, std::string_view message) {
  if (condition.is_int(1)) return;
  const std::string who = operator_.empty() ? "" : cat("`", operator_, "`: ");
  const Symbol text = pool_.symbols().intern(cat(kind, who, message));
  requirements_.push_back(make_require(pool_.arena(), condition, text));
}

Expr Builder::lowest(DType dtype) {
  if (dtype.is_float()) return pool_.real(least_real(dtype), dtype);
  if (!dtype.is_signed_int()) return pool_.integer(0, dtype);
  return pool_.integer(dtype.bits == 64 ? INT64_MIN : -(int64_t{1} << (dtype.bits - 1)), dtype);
}

Expr Builder::highest(DType dtype) {
  if (dtype.is_float()) return pool_.real(greatest_real(dtype), dtype);
  if (dtype.is_bool()) return pool_.integer(1, dtype);
  if (!dtype.is_signed_int()) return pool_.integer(-1, dtype);  // wraps to all ones
  return pool_.integer(dtype.bits == 64 ? INT64_MAX : (int64_t{1} << (dtype.bits - 1)) - 1, dtype);
}

Reducer Builder::sum(DType dtype) {
  return {constant(dtype, 0), [](Expr a, Expr b) { return a + b; }};
}
Reducer Builder::product(DType dtype) {
  return {constant(dtype, 1), [](Expr a, Expr b) { return a * b; }};
}
Reducer Builder::maximum(DType dtype) {
  return {lowest(dtype), [](Expr a, Expr b) { return kernel::max(a, b); }};
}
Reducer Builder::maximum_of_numbers(DType dtype) {
  if (!dtype.is_float()) return maximum(dtype);
  return {lowest(dtype), [](Expr a, Expr b) { return select(less(a, b), b, a); }};
}
Reducer Builder::minimum(DType dtype) {
  return {highest(dtype), [](Expr a, Expr b) { return kernel::min(a, b); }};
}
Reducer Builder::all() {
  return {constant(kBool, 1), [](Expr a, Expr b) { return logical_and(a, b); }};
}
Reducer Builder::any() {
  return {constant(kBool, 0), [](Expr a, Expr b) { return logical_or(a, b); }};
}

Kernel Builder::finish(std::string_view name, std::string_view origin, const std::vector<Tensor>& outputs) {
  // An output must be a buffer of its own: an input or a tensor that is returned twice is copied.
  std::vector<const Buffer*> results;
  for (const Tensor& t : outputs) {
    const bool ours =
        std::any_of(stages_.begin(), stages_.end(), [&](const Stage& s) { return s.buffer == t.buffer(); });
    const bool twice = std::find(results.begin(), results.end(), t.buffer()) != results.end();
    if (ours && !twice) {
      results.push_back(t.buffer());
    } else {
      results.push_back(compute(cat(t.buffer()->name.text(), "_copy"), t.dtype(), t.shape(), [&](Indices i) {
                          return t.at(i);
                        }).buffer());
    }
  }

  std::unordered_set<const Buffer*> needed(results.begin(), results.end());
  std::vector<Stmt> body;
  std::vector<const Buffer*> temporaries;
  for (size_t s = stages_.size(); s-- > 0;) {
    const Stage& stage = stages_[s];
    if (!needed.contains(stage.buffer)) continue;
    for (const Block* b : blocks(stage.stmt)) {
      for (const Region& r : b->reads) needed.insert(r.buffer);
    }
    body.push_back(stage.stmt);
    if (std::find(results.begin(), results.end(), stage.buffer) == results.end())
      temporaries.push_back(stage.buffer);
  }
  std::reverse(body.begin(), body.end());
  std::reverse(temporaries.begin(), temporaries.end());

  Arena& arena = pool_.arena();
  return {pool_.symbols().intern(name), arena.list(inputs_),        arena.list(results),
          arena.list(temporaries),      make_sequence(arena, body), pool_.symbols().intern(origin)};
}

}  // namespace relay::kernel
