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
#include "kernel/polynomial.h"
#include "kernel/scalar.h"
#include "kernel/statements.h"

namespace relay::kernel {
namespace {

using ::relay::Tensor;

// A compiled expression. Copies share it: expressions are graphs, and copying closures would make trees of them.
template <class T>
class Compiled {
 public:
  Compiled() = default;
  template <class F>
    requires std::is_invocable_r_v<T, F>
  Compiled(F f) : f_(std::make_shared<const std::function<T()>>(std::move(f))) {}
  T operator()() const { return (*f_)(); }

 private:
  std::shared_ptr<const std::function<T()>> f_;
};
using Int = Compiled<int64_t>;  // of integer or boolean dtype
using Real = Compiled<double>;  // of floating dtype; the value is exactly one of the dtype's
using Run = std::function<void()>;

// A buffer with memory.
struct Array {
  const Buffer* buffer = nullptr;
  std::vector<int64_t> shape;
  Tensor tensor;
};

// A declared region of the block that is running.
struct Window {
  const Buffer* buffer = nullptr;
  std::vector<Int> min, extent;
  std::vector<int64_t> low, high;  // as of the block's current iteration

  void update() {
    for (size_t d = 0; d < min.size(); ++d) {
      low[d] = min[d]();
      high[d] = low[d] + extent[d]();
    }
  }
  bool contains(const std::vector<int64_t>& indices) const {
    for (size_t d = 0; d < indices.size(); ++d) {
      if (indices[d] < low[d] || indices[d] >= high[d]) return false;
    }
    return true;
  }
};

// What the accesses of a block are checked against.
struct BlockScope {
  std::string name;
  std::vector<std::unique_ptr<Window>> reads, writes;
};

// Poison: a NaN, or an integer that is nobody's zero.
void poison(Tensor& t) {
  for (int64_t i = 0; i < t.size(); ++i) {
    if (t.dtype().is_float()) {
      t.set(i, std::numeric_limits<double>::quiet_NaN());
    } else {
      t.set_int(i, t.dtype().is_bool() ? 1 : 0x5a5a5a5a5a5a5a5a);
    }
  }
}

// Compiles a kernel's statements to closures over its own state, then runs them.
class Executor {
 public:
  Executor(const Kernel& k, std::span<const Tensor> inputs) : kernel_(k) {
    for (const auto& [var, value] : bind_shapes(k, inputs)) slot(var) = value;
    for (size_t i = 0; i < k.inputs.size(); ++i) add(k.inputs[i], inputs[i]);
    for (const Buffer* b : k.outputs) allocate(b);
    for (const Buffer* b : k.temporaries) allocate(b);
  }

  std::vector<Tensor> run() {
    compile(kernel_.body)();
    std::vector<Tensor> out;
    for (const Buffer* b : kernel_.outputs) out.push_back(array(b)->tensor);
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
    arrays_[b] = std::make_unique<Array>(Array{b, t.shape(), std::move(t)});
  }
  void allocate(const Buffer* b) {
    Shape shape;
    for (Expr e : b->shape) shape.push_back(integer(e)());
    Tensor t(b->dtype, shape);
    poison(t);
    add(b, std::move(t));
  }

  // Accesses.
  struct Place {
    Array* array;
    std::vector<Int> indices;
    const BlockScope* scope;
    bool writes;
    std::vector<int64_t> at;

    int64_t offset() {
      int64_t flat = 0;
      for (size_t d = 0; d < indices.size(); ++d) {
        at[d] = indices[d]();
        if (at[d] < 0 || at[d] >= array->shape[d]) fail("outside the buffer");
        flat = flat * array->shape[d] + at[d];
      }
      if (scope == nullptr) fail("outside any block");
      for (const auto& w : writes ? scope->writes : scope->reads) {
        if (w->buffer == array->buffer && w->contains(at)) return flat;
      }
      fail("outside the declared regions");
    }
    [[noreturn]] void fail(std::string_view what) const {
      throw BadKernel(cat("block `", scope ? scope->name : "?", "` ", writes ? "writes " : "reads ",
                          array->buffer->name.text(), "[", join(at, ", "), "], ", what));
    }
  };
  template <class Indices>
  std::shared_ptr<Place> place(const Buffer* b, const Indices& indices, bool writes) {
    auto p = std::make_shared<Place>(Place{array(b), {}, scope_, writes, {}});
    for (Expr i : indices) p->indices.push_back(integer(i));
    p->at.resize(p->indices.size());
    return p;
  }

  // Expressions. What is shared within a block is compiled once (and computed at each use).
  Int integer(Expr e) {
    if (auto it = ints_.find(e.get()); it != ints_.end()) return it->second;
    return ints_[e.get()] = compile_integer(e);
  }
  Real real(Expr e) {
    if (auto it = reals_.find(e.get()); it != reals_.end()) return it->second;
    return reals_[e.get()] = compile_real(e);
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
        return [a = array(n->buffer), body = compile(n->body)] {
          poison(a->tensor);
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
    const bool independent = n.how == ForKind::kParallel || n.how == ForKind::kVectorized;
    return [=] {
      const int64_t end = extent();
      for (int64_t i = 0; i < end; ++i) {
        *var = independent ? end - 1 - i : i;
        body();
      }
    };
  }

  Run compile(const Store& n) {
    auto p = place(n.buffer, n.indices, true);
    if (n.buffer->dtype == kFloat32) {
      return [p, v = real(n.value)] {
        const double x = v();
        p->array->tensor.as<float>()[static_cast<size_t>(p->offset())] = static_cast<float>(x);
      };
    }
    if (n.buffer->dtype.is_float()) {
      return [p, v = real(n.value)] {
        const double x = v();
        p->array->tensor.set(p->offset(), x);
      };
    }
    return [p, v = integer(n.value)] {
      const int64_t x = v();
      p->array->tensor.set_int(p->offset(), x);
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

    const BlockScope* outer = std::exchange(scope_, scope);
    forget_expressions();
    const Run init = n.init ? compile(n.init) : Run(), body = compile(n.body);
    scope_ = outer;
    forget_expressions();
    return [=] {
      if (!predicate()) return;
      bool first = true;
      for (const Iter& i : iters) {
        *i.var = i.binding();
        if (*i.var < 0 || *i.var >= i.extent()) {
          throw BadKernel(
              cat("block `", scope->name, "`: an iterator is ", *i.var, ", outside [0, ", i.extent(), ")"));
        }
        first &= !i.reduction || *i.var == 0;
      }
      for (const auto& w : scope->reads) w->update();
      for (const auto& w : scope->writes) w->update();
      if (init && first) init();
      body();
    };
  }

  const Kernel& kernel_;
  std::unordered_map<const ExprNode*, std::unique_ptr<int64_t>> slots_;
  std::unordered_map<const Buffer*, std::unique_ptr<Array>> arrays_;
  std::vector<std::unique_ptr<BlockScope>> scopes_;
  std::unordered_map<const ExprNode*, Int> ints_;
  std::unordered_map<const ExprNode*, Real> reals_;
  const BlockScope* scope_ = nullptr;  // of the block being compiled
};

}  // namespace

std::unordered_map<const ExprNode*, int64_t> bind_shapes(const Kernel& k, std::span<const Tensor> inputs) {
  if (inputs.size() != k.inputs.size()) {
    throw Trap(
        cat("kernel ", k.name.text(), " takes ", k.inputs.size(), " tensors and was given ", inputs.size()));
  }
  std::unordered_map<const ExprNode*, int64_t> values;
  // c*v + d = dim with one unknown v; repeated, because one dim may give what another needs.
  const auto solve = [&](Expr e, int64_t dim) {
    const ExprNode* unknown = nullptr;
    int64_t coefficient = 0, rest = 0;
    for (const polynomial::Term& t : polynomial::terms(e)) {
      Expr product = e->pool->integer(t.coefficient);
      for (const ExprNode* a : t.atoms) product = product * Expr(a);
      if (auto v = evaluate(product, values)) {
        rest += *v;
      } else if (unknown != nullptr || t.atoms.size() != 1 || t.atoms[0]->kind != ExprKind::kVar) {
        return false;
      } else {
        unknown = t.atoms[0];
        coefficient = t.coefficient;
      }
    }
    if (unknown == nullptr || coefficient == 0 || (dim - rest) % coefficient != 0) return false;
    values[unknown] = (dim - rest) / coefficient;
    return true;
  };
  for (bool again = true; again;) {
    again = false;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Buffer* b = k.inputs[i];
      if (inputs[i].rank() != b->shape.size() || inputs[i].dtype() != b->dtype) {
        throw Trap(cat("input `", b->name.text(), "` of kernel ", k.name.text(), " is ",
                       inputs[i].dtype().name(), ::relay::show(inputs[i].shape())));
      }
      for (size_t d = 0; d < b->shape.size(); ++d) again |= solve(b->shape[d], inputs[i].shape()[d]);
    }
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (size_t d = 0; d < k.inputs[i]->shape.size(); ++d) {
      const Expr e = k.inputs[i]->shape[d];
      const std::optional<int64_t> value = evaluate(e, values);
      if (value && *value != inputs[i].shape()[d]) {
        throw Trap(cat("dim ", d, " of input `", k.inputs[i]->name.text(), "` is ", inputs[i].shape()[d],
                       ", and ", show(e), " = ", *value, " was expected"));
      }
    }
  }
  for (Expr v : shape_parameters(k)) {
    if (!values.contains(v.get())) throw BadKernel(cat("the inputs do not determine `", show(v), "`"));
  }
  return values;
}

std::unordered_set<const ExprNode*> determined_by(std::span<const Expr> extents) {
  std::unordered_set<const ExprNode*> known;
  // c*v + d with one unknown v, as above.
  const auto solve = [&](Expr e) {
    const ExprNode* unknown = nullptr;
    for (const polynomial::Term& t : polynomial::terms(e)) {
      const auto is_open = [&](const ExprNode* atom) {
        const std::vector<Expr> all = variables(Expr(atom));
        return std::any_of(all.begin(), all.end(), [&](Expr v) { return !known.contains(v.get()); });
      };
      if (std::none_of(t.atoms.begin(), t.atoms.end(), is_open)) continue;
      if (unknown || t.atoms.size() != 1 || t.atoms[0]->kind != ExprKind::kVar) return false;
      unknown = t.atoms[0];
    }
    return unknown && known.insert(unknown).second;
  };
  for (bool again = true; again;) {
    again = false;
    for (Expr e : extents) again |= solve(e);
  }
  return known;
}

std::vector<Tensor> execute(const Kernel& k, std::span<const Tensor> inputs) {
  return Executor(k, inputs).run();
}

}  // namespace relay::kernel
