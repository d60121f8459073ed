// lower: each function marked `Primitive` becomes a kernel of the module, and its call a call of that kernel.
//
// A kernel is what the operators' own lowerings say, one after the other, scheduled for the target. Equal functions
// give one kernel. Operators that are left outside of primitive functions stay operator calls. The program's own kernels
// stay as they are written, for the extents of each call where these are constant; for a GPU they are scheduled too.
#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "base/cat.h"
#include "ir/analysis.h"
#include "ir/rewrite.h"
#include "kernel/builder.h"
#include "kernel/execute.h"
#include "kernel/schedule/cpu.h"
#include "kernel/schedule/gpu.h"
#include "kernel/statements.h"
#include "op/apply.h"
#include "op/registry.h"
#include "passes/kernel_extents.h"
#include "passes/lets.h"
#include "passes/pass.h"

namespace relay::passes {
namespace {

// "nn.conv2d + add + nn.relu", for people; and a short form of it for the kernel's name.
std::string describe(const Fn& fn, std::string_view separator, size_t most) {
  std::vector<std::string> names;
  for (Expr e : post_order(fn.body)) {
    if (const op::OpDef* def = op::callee(e)) names.push_back(def->name);
  }
  const size_t shown = std::min(names.size(), most);
  std::string text = join(std::span(names).first(shown), separator);
  if (shown < names.size())
    text += cat(separator, names.size() - shown, separator == "_" ? "_more" : " more");
  return text;
}

std::string kernel_name(const Fn& fn, size_t number) {
  std::string name = describe(fn, "_", 4);
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return cat("k", number, "_", name);
}

// Constants within the function that are no part of the code: one element is, more are the kernel's further arguments.
std::vector<Expr> large_constants(const Fn& fn) {
  std::vector<Expr> out;
  for (Expr e : post_order(fn.body)) {
    if (const auto* c = e->as<Constant>(); c && c->value->size() != 1) out.push_back(e);
  }
  return out;
}

// Does the kernel say itself what the threads of a GPU do?
bool has_launches(const kernel::Kernel& k) {
  bool found = false;
  kernel::visit(k.body, [&](kernel::Stmt s) {
    const auto* loop = s->as<kernel::For>();
    found |= loop && loop->how >= kernel::ForKind::kBlockX;
  });
  return found;
}

class Lowerer {
 public:
  Lowerer(Context& context, const PassContext& pass)
      : context_(context), target_(pass.target), gpu_(pass.gpu) {}

  // Throws RelationError if an operator cannot be lowered for these types.
  kernel::Kernel lower(const Fn& fn, std::string_view name) {
    kernel::Builder k(context_.pool());
    std::unordered_map<Expr, std::vector<kernel::Tensor>> tensors;
    const std::unordered_map<Expr, Type> types = named_extents(fn);
    for (size_t i = 0; i < fn.params.size(); ++i) {
      const Var* p = fn.params[i];
      for (const TensorType* t : op::flatten(std::vector<Type>{types.at(p)})) {
        tensors[p].push_back(k.input(cat("x", i), t->dtype, shape_of(*t)));
      }
    }
    for (Expr e : large_constants(fn)) {
      const auto* t = e->type->as<TensorType>();
      tensors[e] = {k.input("c", t->dtype, shape_of(*t))};
    }
    for (Expr e : post_order(fn.body)) {
      if (const auto* c = e->as<Constant>(); c && c->value->size() == 1) {
        tensors[e] = {literal(k, *c->value)};
      } else if (const auto* tuple = e->as<Tuple>()) {
        for (Expr field : tuple->fields) {
          const auto& parts = tensors.at(field);
          tensors[e].insert(tensors[e].end(), parts.begin(), parts.end());
        }
      } else if (const auto* call = e->as<Call>()) {
        tensors[e] = lower_call(k, *call, tensors, types);
      }
    }
    kernel::Kernel plain = k.finish(name, describe(fn, " + ", 12), tensors.at(fn.body));
    require_known_shapes(plain);
    return gpu_ ? kernel::schedule::schedule_for_gpu(plain, *gpu_)
                : kernel::schedule::schedule_for_cpu(plain, target_);
  }

 private:
  // A kernel is told its inputs' shapes and nothing else.
  static void require_known_shapes(const kernel::Kernel& k) {
    std::vector<kernel::Expr> extents;
    for (const kernel::Buffer* b : k.inputs) extents.insert(extents.end(), b->shape.begin(), b->shape.end());
    const auto known = kernel::determined_by(extents);
    for (kernel::Expr v : kernel::shape_parameters(k)) {
      if (!known.contains(v.get()))
        throw op::RelationError{op::kAttributes, cat("its arguments do not determine `", show(v), "`")};
    }
  }

  // The types of the function's parts, with a shape variable for each extent of a parameter that is not known: a kernel
  // reads it off its argument.
  std::unordered_map<Expr, Type> named_extents(const Fn& fn) {
    std::unordered_set<std::string> taken;
    for (const Var* p : fn.params) {
      for (const TensorType* t : op::flatten(std::vector<Type>{p->type})) {
        for (Dim d : t->dims) {
          if (!d.is_symbolic()) continue;
          for (kernel::Expr v : kernel::variables(d.symbolic())) taken.insert(show(v));
        }
      }
    }
    size_t next = 0;
    const auto fresh = [&] {
      std::string name = cat("d", next++);
      while (taken.contains(name)) name = cat("d", next++);
      return context_.shape_variable(name);
    };
    std::unordered_map<Expr, Type> types;
    for (const Var* p : fn.params) types[p] = named(p->type, fresh);
    for (Expr e : post_order(fn.body)) {
      if (types.contains(e)) continue;
      Type& type = types[e] = e->type;
      bool changed = false;
      std::vector<Type> parts;
      const auto add = [&](Expr part) {
        const auto it = types.find(part);
        parts.push_back(it == types.end() ? part->type : it->second);
        changed |= parts.back() != part->type;
      };
      if (const auto* call = e->as<Call>()) {
        for (Expr arg : call->args) add(arg);
        if (changed) type = op::infer(context_, *op::callee(*call), parts, call->attrs);
      } else if (const auto* tuple = e->as<Tuple>()) {
        for (Expr field : tuple->fields) add(field);
        if (changed) type = context_.tuple_type(parts);
      }
    }
    return types;
  }

  Type named(Type type, const std::function<Dim()>& fresh) {
    if (const auto* tuple = type->as<TupleType>()) {
      std::vector<Type> fields;
      for (Type field : tuple->fields) fields.push_back(named(field, fresh));
      return context_.tuple_type(fields);
    }
    const auto& t = *type->as<TensorType>();
    std::vector<Dim> dims;
    for (Dim d : t.dims) dims.push_back(d.is_unknown() ? fresh() : d);
    return context_.tensor_type(dims, t.dtype);
  }

  std::vector<kernel::Expr> shape_of(const TensorType& t) {
    std::vector<kernel::Expr> shape;
    for (Dim d : t.dims) {
      if (d.is_unknown()) throw op::RelationError{op::kAttributes, "an extent `?` depends on data"};
      shape.push_back(d.expr(context_.pool()));
    }
    return shape;
  }

  // A constant of one element is part of the code.
  kernel::Tensor literal(kernel::Builder& k, const Tensor& value) {
    const DType d = value.dtype();
    const kernel::Expr e =
        d.is_float() ? context_.pool().real(value.get(0), d) : context_.pool().integer(value.get_int(0), d);
    std::vector<kernel::Expr> ones(value.rank(), k.index(1));
    return k.compute("literal", d, ones, [&](kernel::Indices) { return e; });
  }

  std::vector<kernel::Tensor> lower_call(kernel::Builder& k, const Call& call,
                                         const std::unordered_map<Expr, std::vector<kernel::Tensor>>& tensors,
                                         const std::unordered_map<Expr, Type>& of) {
    const op::OpDef& def = *op::callee(call);
    if (!def.lower)
      throw op::RelationError{op::kAttributes, cat("operator `", def.name, "` has no lowering")};
    std::vector<kernel::Tensor> in;
    std::vector<Type> types;
    for (Expr arg : call.args) {
      const auto& parts = tensors.at(arg);
      in.insert(in.end(), parts.begin(), parts.end());
      types.push_back(of.at(arg));
    }
    const std::vector<const TensorType*> arg_types = op::flatten(types);
    const std::vector<const TensorType*> out_types = op::flatten(std::vector<Type>{of.at(&call)});
    for (const TensorType* t : out_types) (void)shape_of(*t);  // a shape that depends on data has no kernel
    return def.lower(k, call.attrs, {in, arg_types, out_types, context_.pool()});
  }

  Context& context_;
  kernel::schedule::CpuOptions target_;
  std::optional<kernel::schedule::GpuOptions> gpu_;
};

// A call of the kernel with the function's arguments. A kernel takes and gives tensors: tuples are taken apart, and an
// only result that was in a tuple is put there again.
Expr call_kernel(relay::Builder& b, Expr kernel, const Call& call, const Fn& fn) {
  const auto takes_apart = [](Expr arg) { return arg->type->as<TupleType>() && !arg->as<Tuple>(); };
  // A tuple that is not written out is evaluated once, in its turn.
  const bool binds = std::any_of(call.args.begin(), call.args.end(),
                                 [&](Expr arg) { return takes_apart(arg) && !arg->as<Var>(); });
  Lets lets(b, "a");
  std::vector<Expr> args;
  for (Expr arg : call.args) {
    if (binds && !arg->as<Var>() && !arg->as<Constant>()) arg = lets.name(arg);
    const auto* tuple = arg->type->as<TupleType>();
    for (uint32_t i = 0; tuple && i < tuple->fields.size(); ++i) {
      args.push_back(arg->as<Tuple>() ? arg->as<Tuple>()->fields[i] : b.proj(arg, i));
    }
    if (!tuple) args.push_back(arg);
  }
  for (Expr constant : large_constants(fn)) args.push_back(constant);
  const auto* tuple = call.type->as<TupleType>();
  const bool wraps = tuple && tuple->fields.size() == 1;
  Expr e = b.call(kernel, args, {}, wraps ? tuple->fields[0] : call.type);
  if (wraps) e = b.tuple({e});
  return lets.around(e);
}

Module run(const Module& m, const PassContext& pass) {
  Module out = m;
  Context& context = m.context();
  Lowerer lowerer(context, pass);
  // Kernels made so far, by the structural hash of the function they came from.
  std::multimap<uint64_t, std::pair<const Fn*, std::string>> made;
  size_t number = m.kernels().size();

  // The program may have a kernel or a function of that name.
  const auto fresh = [&](const auto& next) {
    std::string name = next();
    while (out.kernel(name) || out.function(name)) name = next();
    return name;
  };
  const auto kernel_for = [&](const Fn* fn) -> std::string {
    const uint64_t hash = structural_hash(fn);
    for (auto [it, end] = made.equal_range(hash); it != end; ++it) {
      if (alpha_equal(it->second.first, fn)) return it->second.second;
    }
    const std::string name = fresh([&] { return kernel_name(*fn, number++); });
    const Activity activity("lowering", name);
    const kernel::Kernel* kernel = context.arena().make<kernel::Kernel>(lowerer.lower(*fn, name));
    out.set_kernel(name, kernel);
    made.emplace(hash, std::pair(fn, name));
    return name;
  };

  // The program's own kernels, by what they are for.
  std::map<std::pair<std::string, std::vector<int64_t>>, std::string> own;
  const auto own_kernel_for = [&](const Call& call, const kernel::Kernel& k) -> std::optional<std::string> {
    const auto extents = extents_at(call, k);
    const bool schedules = pass.gpu && !k.external;
    if (!extents || (extents->empty() && !schedules)) return std::nullopt;
    auto [it, made_now] = own.emplace(std::pair(k.name.str(), *extents), "");
    if (!made_now) return it->second;
    const std::string base = cat(k.name.text(), extents->empty() ? "" : "_", join(*extents, "_"));
    size_t next = 0;
    it->second = fresh([&] { return next++ == 0 && base != k.name.text() ? base : cat(base, "_", next); });
    const kernel::Kernel* made = with_extents(context, k, *extents, it->second);
    if (schedules && !has_launches(*made)) {
      made = context.arena().make<kernel::Kernel>(kernel::schedule::schedule_for_gpu(*made, *pass.gpu));
    }
    out.set_kernel(it->second, made);
    return it->second;
  };

  Module rewritten = rewrite(m, [&](relay::Builder& b, Expr e) -> Expr {
    const auto* call = e->as<Call>();
    const auto* global = call ? call->callee->as<Global>() : nullptr;
    if (const kernel::Kernel* k = global ? m.kernel(global->name.text()) : nullptr) {
      const std::optional<std::string> name = own_kernel_for(*call, *k);
      return name ? b.call(b.global(*name), call->args, {}, call->type) : e;
    }
    const auto* fn = call ? call->callee->as<Fn>() : nullptr;
    if (!fn || !fn->attrs.flag("Primitive")) return e;
    try {
      return call_kernel(b, b.global(kernel_for(fn)), *call, *fn);
    } catch (const op::RelationError& error) {
      pass.diagnostics
          .error(e->span, "cannot-lower", cat("cannot lower ", describe(*fn, " + ", 12), ": ", error.reason))
          .note(
              "the engines `interp` and `jit` run any program; `expand-operators` before `lower` leaves "
              "fewer "
              "operators");
      return e;
    }
  });
  for (const auto& [name, fn] : rewritten.functions()) out.set_function(name.text(), fn);
  return out;
}

}  // namespace

const Pass kLower = {
    .name = "lower",
    .doc = "turn primitive functions into kernels, scheduled for the target",
    .run = run,
};

}  // namespace relay::passes
