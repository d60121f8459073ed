#include "kernel/execute.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <type_traits>

#include "base/cat.h"
#include "base/failure.h"
#include "kernel/execute_state.h"
#include "kernel/external.h"
#include "kernel/limits.h"
#include "kernel/scalar.h"
#include "kernel/simplify.h"
#include "kernel/statements.h"

namespace relay::kernel {
namespace {

using ::relay::Tensor;

// Compiles a kernel's statements to closures over its own state, then runs them.
class Executor {
 public:
  // With a race check, it also watches the order and the number of the steps.
  Executor(const Kernel& k, std::span<const Tensor> inputs, const std::function<void()>& look,
           RaceCheck* race_check = nullptr)
      : kernel_(k), look_(look), race_check_(race_check) {
    const auto extents = bind_shapes(k, inputs);
    for (const auto& [var, value] : extents) slot(var) = value;
    for (size_t i = 0; i < k.inputs.size(); ++i) add(k.inputs[i], inputs[i]);
    for (const Buffer* b : k.outputs) {
      if (b->strides.empty()) {
        allocate(b, shape_at(b->shape, extents));  // traps if an extent does not fit
      } else {
        allocate(b);
      }
    }
    for (const Buffer* b : k.temporaries) allocate(b);
  }

  std::vector<Tensor> run() {
    compile(kernel_.body)();
    std::vector<Tensor> out;
    for (const Buffer* b : kernel_.outputs) {
      const std::vector<uint8_t>& defined = array(b)->defined;
      const auto hole = std::find(defined.begin(), defined.end(), 0);
      if (hole != defined.end()) {
        throw BadKernel(
            cat("element ", hole - defined.begin(), " of output `", b->name.text(), "` is not written"));
      }
      out.push_back(array(b)->tensor);
    }
    if (race_check_) {
      if (std::string missing = race_check_->missing(); !missing.empty()) throw BadKernel(missing);
    }
    return out;
  }

 private:
  // State.
  int64_t& slot(const ExprNode* var) {
    auto& s = slots_[var];
    if (!s) s = std::make_unique<int64_t>(0);
    return *s;
  }
  int64_t* bound(const ExprNode* var) {
    auto it = slots_.find(var);
    if (it == slots_.end()) throw BadKernel(cat("variable `", var->name.text(), "` is not bound"));
    return it->second.get();
  }
  Array* array(const Buffer* b) {
    auto it = arrays_.find(b);
    if (it == arrays_.end()) throw BadKernel(cat("buffer `", b->name.text(), "` is not known here"));
    return it->second.get();
  }
  void add(const Buffer* b, Tensor t) {
    std::vector<int64_t> shape, strides;
    for (size_t d = 0; d < b->shape.size(); ++d) {
      shape.push_back(integer(b->shape[d])());
      strides.push_back(integer(stride_of(*b, d))());
    }
    arrays_[b] = std::make_unique<Array>(Array{b, std::move(shape), std::move(strides), std::move(t)});
  }
  void allocate(const Buffer* b) {
    Shape shape;
    if (b->strides.empty()) {
      // A kernel that asks for a negative extent traps when it begins, if it may do so
      // (explicit_checks.h).
      for (Expr e : b->shape) shape.push_back(std::max<int64_t>(0, integer(e)()));
    } else {
      shape.push_back(integer(b->shape[0] * b->strides[0])());
    }
    allocate(b, shape);
  }
  void allocate(const Buffer* b, const Shape& shape) {
    if (arrays_.contains(b)) throw BadKernel(cat("buffer `", b->name.text(), "` is allocated twice"));
    add(b, Tensor(b->dtype, shape));
    Array& a = *array(b);
    a.defined = work_list<uint8_t>(a.tensor.size());
    if (race_check_) a.past.resize(a.defined.size());
    forget(a);
  }
  static void forget(Array& a) {
    std::fill(a.defined.begin(), a.defined.end(), 0);
    for (ElementHistory& e : a.past) e.forget();
  }

  // Accesses.
  struct Place {
    Array* array;
    std::vector<Int> indices;
    const BlockScope* scope;
    bool writes;
    RaceCheck* race_check;
    std::vector<int64_t> at;

    int64_t offset() {
      const int64_t flat = checked_offset();
      const auto i = static_cast<size_t>(flat);
      if (!array->defined.empty()) {
        if (!writes && !array->defined[i]) fail("which nothing has written");
        array->defined[i] = 1;
      }
      if (!array->past.empty()) {
        ElementHistory& e = array->past[i];
        const std::string_view wrong =
            writes ? race_check->write(e, *scope) : race_check->read(e, array->buffer, *scope);
        if (!wrong.empty()) fail(wrong);
      }
      return flat;
    }
    int64_t checked_offset() {
      int64_t flat = 0;
      for (size_t d = 0; d < indices.size(); ++d) {
        at[d] = indices[d]();
        if (at[d] < 0 || at[d] >= array->shape[d]) fail("outside the buffer");
        flat += at[d] * array->strides[d];
      }
      if (scope == nullptr) fail("outside any block");
      if (scope->allows(array->buffer, at, writes)) return flat;
      fail("outside the declared regions");
    }
    [[noreturn]] void fail(std::string_view what) const {
      throw BadKernel(cat("block `", scope ? scope->name : "?", "` ", writes ? "writes " : "reads ",
                          array->buffer->name.text(), "[", join(at, ", "), "], ", what));
    }
  };
  template <class Indices>
  std::shared_ptr<Place> place(const Buffer* b, const Indices& indices, bool writes) {
    auto p = std::make_shared<Place>(Place{array(b), {}, scope_, writes, race_check_, {}});
    for (Expr i : indices) p->indices.push_back(integer(i));
    p->at.resize(p->indices.size());
    return p;
  }

  // Expressions. What is shared within a block is compiled once. It is computed at each use if it
  // is small, else once until a variable or an element changes.
  Int integer(Expr e) {
    if (auto it = ints_.find(e.get()); it != ints_.end()) return it->second;
    return ints_[e.get()] = kept(e, compile_integer(e));
  }
  Real real(Expr e) {
    if (auto it = reals_.find(e.get()); it != reals_.end()) return it->second;
    return reals_[e.get()] = kept(e, compile_real(e));
  }
  template <class T>
  Compiled<T> kept(Expr e, Compiled<T> f) {
    if (e->weight <= kSmallWeight) return f;
    return [this, f, value = T(), as_of = uint64_t{0}]() mutable {
      if (as_of != changes_) {
        value = f();
        as_of = changes_;
      }
      return value;
    };
  }
  void forget_expressions() {
    ints_.clear();
    reals_.clear();
  }

  Int compile_integer(Expr e) {
    const DType d = e->dtype;
    switch (e->kind) {
      case ExprKind::kInt: return [v = e->int_value] { return v; };
      case ExprKind::kVar: return [p = bound(e.get())] { return *p; };
      case ExprKind::kLoad: {
        auto p = place(e->buffer, e->args, false);
        return [p] { return p->array->tensor.get_int(p->offset()); };
      }
      case ExprKind::kSelect:
        return [c = integer(e->args[0]), a = integer(e->args[1]), b = integer(e->args[2])] {
          return c() ? a() : b();
        };
      case ExprKind::kNot: return [a = integer(e->args[0])]() -> int64_t { return !a(); };
      case ExprKind::kCast:
        if (e->args[0]->dtype.is_float())
          return [d, a = real(e->args[0])] { return scalar::to_integer(d, a()); };
        return [d, a = integer(e->args[0])] { return scalar::wrap(d, a()); };
      case ExprKind::kMath: return integer_math(e);
      default: break;
    }
    if (e->args[0]->dtype.is_float()) {
      return
          [k = e->kind, a = real(e->args[0]), b = real(e->args[1])] { return scalar::compare(k, a(), b()); };
    }
    // Sums and products of indices are n-ary.
    Int result = integer(e->args[0]);
    for (size_t i = 1; i < e->args.size(); ++i) {
      if (d == kInt64 && e->kind == ExprKind::kAdd) {
        result = [a = result, b = integer(e->args[i])] { return scalar::wrapping_add(a(), b()); };
      } else if (d == kInt64 && e->kind == ExprKind::kMul) {
        result = [a = result, b = integer(e->args[i])] { return scalar::wrapping_mul(a(), b()); };
      } else {
        result = [k = e->kind, of = e->args[0]->dtype, a = result, b = integer(e->args[i])] {
          const int64_t x = a();  // the order of evaluation of operands is left to right
          return scalar::binary(k, of, x, b());
        };
      }
    }
    return result;
  }

  Int integer_math(Expr e) {
    if (!e->args[0]->dtype.is_float())
      return [d = e->dtype, fn = e->fn, a = integer(e->args[0])] { return scalar::math(fn, d, a()); };
    return [fn = e->fn, a = real(e->args[0])] { return scalar::test(fn, a()); };
  }

  Real compile_real(Expr e) {
    const DType d = e->dtype;
    switch (e->kind) {
      case ExprKind::kFloat: return [v = scalar::round_to(d, e->float_value)] { return v; };
      case ExprKind::kLoad: {
        auto p = place(e->buffer, e->args, false);
        if (d == kFloat32) {
          return [p] {
            return static_cast<double>(p->array->tensor.as<float>()[static_cast<size_t>(p->offset())]);
          };
        }
        return [p] { return p->array->tensor.get(p->offset()); };
      }
      case ExprKind::kSelect:
        return
            [c = integer(e->args[0]), a = real(e->args[1]), b = real(e->args[2])] { return c() ? a() : b(); };
      case ExprKind::kCast:
        if (e->args[0]->dtype.is_float())
          return [d, a = real(e->args[0])] { return scalar::round_to(d, a()); };
        return
            [d, from = e->args[0]->dtype, a = integer(e->args[0])] { return scalar::to_real(d, from, a()); };
      case ExprKind::kMath:
        if (e->args.size() == 1)
          return [d, fn = e->fn, a = real(e->args[0])] { return scalar::math(fn, d, a()); };
        return [d, fn = e->fn, a = real(e->args[0]), b = real(e->args[1])] {
          return scalar::math(fn, d, a(), b());
        };
      case ExprKind::kAdd:
        return [d, a = real(e->args[0]), b = real(e->args[1])] { return scalar::round_to(d, a() + b()); };
      case ExprKind::kMul:
        return [d, a = real(e->args[0]), b = real(e->args[1])] { return scalar::round_to(d, a() * b()); };
      case ExprKind::kSub:
        return [d, a = real(e->args[0]), b = real(e->args[1])] { return scalar::round_to(d, a() - b()); };
      case ExprKind::kDiv:
        return [d, a = real(e->args[0]), b = real(e->args[1])] { return scalar::round_to(d, a() / b()); };
      case ExprKind::kMin:
        return [a = real(e->args[0]), b = real(e->args[1])] { return scalar::least(a(), b()); };
      case ExprKind::kMax:
        return [a = real(e->args[0]), b = real(e->args[1])] { return scalar::greatest(a(), b()); };
      default: throw BadKernel(cat("`", show(e), "` has no value of dtype ", d.name()));
    }
  }

  // Statements.
  Run compile(Stmt s) {
    switch (s->kind) {
      case StmtKind::kPrefetch:  // of no consequence
      case StmtKind::kNop: return [] {};
      case StmtKind::kFor: return compile(*s->as<For>());
      case StmtKind::kBlock: return compile(*s->as<Block>());
      case StmtKind::kStore: return compile(*s->as<Store>());
      case StmtKind::kIf: {
        const auto* n = s->as<If>();
        return [c = integer(n->condition), a = compile(n->then_branch),
                b = n->else_branch ? compile(n->else_branch) : Run([] {})] { c() ? a() : b(); };
      }
      case StmtKind::kSeq: {
        std::vector<Run> body;
        for (Stmt c : s->as<Seq>()->body) body.push_back(compile(c));
        return [body] {
          for (const Run& r : body) r();
        };
      }
      case StmtKind::kAllocate: {
        const auto* n = s->as<Allocate>();
        allocate(n->buffer);
        if (scope_) scope_->own.insert(n->buffer);
        return [this, a = array(n->buffer), body = compile(n->body)] {
          forget(*a);
          ++changes_;
          body();
        };
      }
      case StmtKind::kRequire: {
        const auto* n = s->as<Require>();
        return [c = integer(n->condition), message = n->message.str()] {
          if (!c()) throw Trap(message);
        };
      }
    }
    return [] {};
  }

  Run compile(const For& n) {
    const Int extent = integer(n.extent);
    int64_t* var = &slot(n.var.get());
    const Run body = compile(n.body);
    const bool independent = n.how != ForKind::kSerial && n.how != ForKind::kUnrolled;
    RaceCheck* watch = independent ? race_check_ : nullptr;
    return [=, this] {
      const int64_t end = extent(), activation = watch ? watch->enter_loop() : 0;
      for (int64_t i = 0; i < end; ++i) {
        if (++rounds_ % kRoundsBetweenLooks == 0 && look_) look_();
        *var = independent ? end - 1 - i : i;
        ++changes_;
        if (watch) watch->enter_iteration(activation, i);
        body();
        if (watch) watch->leave_iteration();
      }
      ++changes_;
    };
  }

  Run compile(const Store& n) {
    auto p = place(n.buffer, n.indices, true);
    if (n.buffer->dtype == kFloat32) {
      return [this, p, v = real(n.value)] {
        const double x = v();
        p->array->tensor.as<float>()[static_cast<size_t>(p->offset())] = static_cast<float>(x);
        ++changes_;
      };
    }
    if (n.buffer->dtype.is_float()) {
      return [this, p, v = real(n.value)] {
        const double x = v();
        p->array->tensor.set(p->offset(), x);
        ++changes_;
      };
    }
    return [this, p, v = integer(n.value)] {
      const int64_t x = v();
      p->array->tensor.set_int(p->offset(), x);
      ++changes_;
    };
  }

  Run compile(const Block& n) {
    const Int predicate = n.predicate ? integer(n.predicate) : Int([] { return int64_t{1}; });
    struct Iter {
      int64_t* var;
      Int binding, extent;
      bool reduction;
    };
    std::vector<Iter> iters;
    for (const BlockIter& i : n.iters) {
      iters.push_back(
          {&slot(i.var.get()), integer(i.binding), integer(i.extent), i.kind == IterKind::kReduction});
    }
    scopes_.push_back(std::make_unique<BlockScope>());
    BlockScope* scope = scopes_.back().get();
    scope->name = n.name.str();
    scope->outer = scope_;
    scope->number = static_cast<int32_t>(scopes_.size());
    const auto slot_of = [this](const BlockIter& i) -> const int64_t* { return &slot(i.var.get()); };
    std::function<void()> note_values;
    std::function<bool(int64_t, int64_t)> note_step;
    if (race_check_) {
      scope->goes_on = goes_on_with(n);
      scope->blanks = stores_zero(n);
      note_values = race_check_->watch_values(n, slot_of);
      if (scope->goes_on) note_step = race_check_->watch_steps(n, enclosing_, slot_of);
    }
    const Array* sums = scope->goes_on ? array(scope->goes_on) : nullptr;
    const auto window = [&](const Region& r) {
      auto w = std::make_unique<Window>();
      w->buffer = r.buffer;
      for (Expr e : r.min) w->min.push_back(integer(e));
      for (Expr e : r.extent) w->extent.push_back(integer(e));
      w->low.resize(w->min.size());
      w->high.resize(w->min.size());
      return w;
    };
    for (const Region& r : n.reads) scope->reads.push_back(window(r));
    for (const Region& r : n.writes) scope->writes.push_back(window(r));

    BlockScope* outer = std::exchange(scope_, scope);
    forget_expressions();
    for (const BlockIter& i : n.iters) enclosing_.push_back(&i);
    const Run init = n.init ? compile(n.init) : Run(), body = compile(n.body);
    enclosing_.resize(enclosing_.size() - n.iters.size());
    scope_ = outer;
    forget_expressions();
    return [=, this] {
      if (!predicate()) return;
      bool first = true;
      for (const Iter& i : iters) {
        *i.var = i.binding();
        ++changes_;
        if (*i.var < 0 || *i.var >= i.extent()) {
          throw BadKernel(
              cat("block `", scope->name, "`: an iterator is ", *i.var, ", outside [0, ", i.extent(), ")"));
        }
        first &= !i.reduction || *i.var == 0;
      }
      for (const auto& w : scope->reads) w->update();
      for (const auto& w : scope->writes) w->update();
      if (init && first) {
        ++changes_;
        scope->in_init = true;
        init();
        scope->in_init = false;
        ++changes_;
      }
      if (note_values) note_values();
      if (note_step) {
        const int64_t element = first_of(*scope->writes[0], *sums);
        if (!note_step(element, beginning_of(*sums, element)))
          throw BadKernel(cat("block `", scope->name, "` does a step of its reduction again"));
      }
      body();
    };
  }

  static int64_t first_of(const Window& w, const Array& a) {
    int64_t element = 0;
    for (size_t d = 0; d < w.low.size(); ++d) element += w.low[d] * a.strides[d];
    return element;
  }
  static int64_t beginning_of(const Array& a, int64_t element) {
    const bool exists = element >= 0 && element < static_cast<int64_t>(a.past.size());
    return exists ? a.past[static_cast<size_t>(element)].beginning : 0;
  }

  const Kernel& kernel_;
  const std::function<void()>& look_;
  RaceCheck* race_check_;
  uint64_t rounds_ = 0;  // of all loops
  std::unordered_map<const ExprNode*, std::unique_ptr<int64_t>> slots_;
  std::unordered_map<const Buffer*, std::unique_ptr<Array>> arrays_;
  std::vector<std::unique_ptr<BlockScope>> scopes_;
  std::unordered_map<const ExprNode*, Int> ints_;
  std::unordered_map<const ExprNode*, Real> reals_;
  uint64_t changes_ = 1;                     // of variables, of elements, and of what is checked
  std::vector<const BlockIter*> enclosing_;  // of the blocks around
  BlockScope* scope_ = nullptr;              // of the block being compiled
};

}  // namespace

std::vector<Tensor> execute(const Kernel& k, std::span<const Tensor> inputs,
                            const std::function<void()>& look) {
  if (k.external) return execute_external(k, inputs);
  if (const std::string deep = too_deep(k); !deep.empty()) throw BadKernel(deep);
  return Executor(k, inputs, look).run();
}

std::string check_races(const Kernel& k) {
  if (!race_check_work(k)) return {};
  std::vector<Tensor> zeros;
  for (const Buffer* b : k.inputs) {
    Shape shape;
    for (Expr e : b->shape) shape.push_back(e->int_value);
    zeros.emplace_back(b->dtype, shape);
  }
  try {
    RaceCheck watch(k);
    Executor(k, zeros, {}, &watch).run();
  } catch (const BadKernel& bad) {
    return bad.what();
  } catch (const Trap&) {
    // Zeros are not what it takes.
  }
  return {};
}

}  // namespace relay::kernel
