// lower: each function marked `Primitive` becomes a kernel of the module, and its call a
// call of that kernel.
//
// A kernel is what the operators' own lowerings say, one after the other, scheduled for the target.
// It begins with what the operators' relations leave to be compared when the program runs. Equal
// functions give one kernel; an operator whose extents depend on data (OpDef::extents) gives two,
// and the first one tells the second its extents. Operators that are left outside of primitive
// functions stay operator calls. User kernels are made for the extents of each call
// where these are constant, and scheduled where their form allows it
// (kernel/schedule/canonical_form.h). A kernel that is called where recursion branches gets a
// batched one beside it (recursion.h).
//
// Before: `fuse` has made primitive functions, and no operator is left that is defined by others.
// After: no function is primitive.
#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "analysis/effects.h"
#include "analysis/fused.h"
#include "analysis/kernel_extents.h"
#include "analysis/primitives.h"
#include "analysis/recursion.h"
#include "analysis/user_kernels.h"
#include "base/cat.h"
#include "base/failure.h"
#include "ir/analysis.h"
#include "ir/rewrite.h"
#include "ir/type_parts.h"
#include "kernel/batched.h"
#include "kernel/explicit_checks.h"
#include "kernel/limits.h"
#include "kernel/statements.h"
#include "op/apply.h"
#include "op/registry.h"
#include "passes/lets.h"
#include "passes/lowerer.h"
#include "passes/pass.h"

namespace relay::passes {
namespace {

// Bytes of the smallest and of the largest tensor in the type; nothing if one of them is not known.
std::optional<std::pair<int64_t, int64_t>> tensor_bytes(Type type) {
  std::pair<int64_t, int64_t> out{INT64_MAX, 0};
  for (const TensorType* t : op::flatten(std::vector<Type>{type})) {
    auto bytes = static_cast<int64_t>(t->dtype.bytes());
    for (Dim d : t->dims) {
      if (!d.is_const() || __builtin_mul_overflow(bytes, d.value(), &bytes)) return std::nullopt;
    }
    out = {std::min(out.first, bytes), std::max(out.second, bytes)};
  }
  return out;
}

// The primitive functions of which many calls may be deferred and made at once: none of
// them can fail, and the shapes of their results are known before. Empty unless some of them have
// weights to share.
std::unordered_set<const Fn*> may_be_batched(const Module& m) {
  bool shared = false;
  std::unordered_set<const Fn*> out;
  for (const Fn* around : analysis::branching_functions(m)) {
    for (Expr e : post_order(around->body)) {
      const auto* call = e->as<Call>();
      const auto* fn = call ? call->callee->as<Fn>() : nullptr;
      if (!fn || !fn->attrs.flag("Primitive")) continue;
      const std::vector<Expr> inside = post_order(fn->body);
      const bool fits = std::all_of(inside.begin(), inside.end(), [&](Expr part) {
        const auto* made = part->as<Call>();
        const op::OpDef* def = made ? op::callee(*made) : nullptr;
        return !made || (tensor_bytes(made->type) && (!def || !analysis::may_trap(m.context(), *made, *def)));
      });
      if (!fits) continue;
      bool varies = false, weights = false, known = true;
      const auto look = [&](Type type) {
        const auto bytes = tensor_bytes(type);
        known &= bytes.has_value();
        weights |= bytes && bytes->second >= kernel::kWeightBytes;
        return bytes && bytes->first < kernel::kWeightBytes;
      };
      for (Expr arg : call->args) varies |= look(arg->type) && !arg->as<Constant>();
      for (Expr constant : large_constants(*fn)) look(constant->type);
      if (!varies || !known) continue;
      shared |= weights;
      out.insert(fn);
    }
  }
  return shared ? out : std::unordered_set<const Fn*>();
}

// The kernels that a function became.
struct Made {
  std::string kernel;
  std::string extents = {};  // tells the other one its extents; empty if there is none
  int64_t extent_count = 0;
};

// A call of the kernel with the function's arguments. A kernel takes and gives tensors:
// tuples are taken apart, and an only result that was in a tuple is put there again. Extents
// are its last argument.
Expr call_kernel(relay::Builder& b, const Made& made, const Call& call, const Fn& fn) {
  const auto takes_apart = [](Expr arg) { return arg->type->as<TupleType>() && !arg->as<Tuple>(); };
  // What is used more than once is evaluated once, in its turn: a tuple that is not written out,
  // and what extents depend on.
  const bool binds = std::any_of(call.args.begin(), call.args.end(), [&](Expr arg) {
    return (takes_apart(arg) || !made.extents.empty()) && !arg->as<Var>();
  });
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
  if (!made.extents.empty()) {
    const Type extents = b.context().tensor_type({Dim(made.extent_count)}, kInt64);
    args.push_back(b.call(b.global(made.extents), args, {}, extents));
  }
  const auto* tuple = call.type->as<TupleType>();
  const bool wraps = tuple && tuple->fields.size() == 1;
  Expr e = b.call(b.global(made.kernel), args, {}, wraps ? tuple->fields[0] : call.type);
  if (wraps) e = b.tuple({e});
  return lets.around(e);
}

// Checks nest conditions in expressions of the program's kernels.
bool within_limits(const Module& m, Diagnostics& diagnostics) {
  const size_t errors = diagnostics.errors();
  for (const auto& [name, k] : m.kernels()) {
    if (const std::string deep = kernel::too_deep(*k); !deep.empty())
      diagnostics.error(Span::none(), "kernel-too-deep",
                        cat("kernel `@", name.text(), "` with its checks: ", deep));
  }
  return diagnostics.errors() == errors;
}

void refuse(Diagnostics& diagnostics, Span span, const std::string& message) {
  diagnostics.error(span, "cannot-lower", message)
      .note(
          "the engines `interp` and `jit` run any program; `expand-operators` before `lower` leaves fewer "
          "operators");
}

// Do functions marked `Primitive` take and give tensors alone? Programs may mark any function.
bool takes_tensors(const Module& m, Diagnostics& diagnostics) {
  const size_t errors = diagnostics.errors();
  for (const auto& [name, function] : m.functions()) {
    for (Expr e : post_order(function)) {
      const auto* fn = e->as<Fn>();
      if (!fn || !fn->attrs.flag("Primitive")) continue;
      std::vector<Type> types{fn->body->type};
      for (const Var* p : fn->params) types.push_back(p->type);
      const auto other = std::find_if_not(types.begin(), types.end(), is_of_tensors);
      if (other == types.end()) continue;
      refuse(diagnostics, e->span,
             cat("cannot lower a primitive function: it takes or gives ", show(*other, 80),
                 ", which is no tensor"));
    }
  }
  return diagnostics.errors() == errors;
}

// One run of the pass over a module.
class ModuleLowering {
 public:
  ModuleLowering(const Module& m, const PassContext& pass)
      : pass_(pass),
        m_(m),
        out_(m_),
        context_(m_.context()),
        lowerer_(m_, pass),
        number_(m_.kernels().size()) {
    if (!pass.target.gpu) many_ = may_be_batched(m_);
  }

  Module run() {
    // What stands in primitive functions becomes a part of their kernels.
    std::unordered_set<Expr> inside;
    if (!m_.kernels().empty()) {
      for (const auto& [name, function] : m_.functions())
        inside.merge(analysis::inside_primitives(post_order(function)));
    }
    const analysis::UserKernels user_kernels(m_);
    const Module rewritten = rewrite(m_, [&](relay::Builder& b, Expr e) -> Expr {
      const auto* call = e->as<Call>();
      const kernel::Kernel* k = user_kernels.callee(e);
      if (k && !inside.contains(e)) return call_user_kernel(b, *call, *k);
      const auto* fn = call ? call->callee->as<Fn>() : nullptr;
      return fn && fn->attrs.flag("Primitive") ? call_primitive(b, *call, *fn) : e;
    });
    for (const auto& [name, fn] : rewritten.functions()) out_.set_function(name.text(), fn);
    schedule_kept_kernels(rewritten);
    return out_;
  }

 private:
  // The first of the names that is free: the program may have a kernel or a function of that name.
  template <class Next>
  std::string fresh(const Next& next) const {
    std::string name = next();
    while (out_.kernel(name) || out_.function(name)) name = next();
    return name;
  }

  void set_kernel(const std::string& name, const kernel::Kernel& k) {
    out_.set_kernel(name, context_.arena().make<kernel::Kernel>(k));
  }

  void tell(const std::string& kernel, const Call& replaced) const {
    if (pass_.on_kernel) pass_.on_kernel(context_.symbol(kernel), replaced);
  }

  // --- primitive functions ---

  // Equal functions have one kernel.
  Made kernels_for(const Fn* fn) {
    const uint64_t hash = structural_hash(fn);
    for (auto [it, end] = made_.equal_range(hash); it != end; ++it) {
      if (alpha_equal(it->second.first, fn)) return it->second.second;
    }
    Made now{fresh([&] { return kernel_name(*fn, number_++); })};
    const Activity activity("lowering", now.kernel);
    const kernel::Kernel k = lowerer_.lower(*fn, now.kernel);
    set_kernel(now.kernel, k);
    if (!k.read_extents.empty()) {
      now.extents = fresh([&] { return kernel_name(*fn, number_++) + "_extents"; });
      now.extent_count = static_cast<int64_t>(k.read_extents.size());
      set_kernel(now.extents, lowerer_.lower_extents(*fn, now.extents));
    }
    made_.emplace(hash, std::pair(fn, now));
    return now;
  }

  void add_batched(const std::string& name, const Call& call, const Fn& fn) {
    size_t next = 0;
    const std::string batched =
        fresh([&] { return next++ == 0 ? cat(name, "_batched") : cat(name, "_batched_", next); });
    const std::optional<kernel::Kernel> made_of_many = lowerer_.lower_batched(call, fn, batched);
    if (!made_of_many) return;
    set_kernel(batched, *made_of_many);
    kernel::Kernel one = *out_.kernel(name);
    one.batched = context_.symbol(batched);
    set_kernel(name, one);
  }

  // The call as it is, and an error, if an operator cannot be lowered.
  Expr call_primitive(relay::Builder& b, const Call& call, const Fn& fn) {
    try {
      const Made kernels = kernels_for(&fn);
      tell(kernels.kernel, call);
      if (!kernels.extents.empty()) tell(kernels.extents, call);
      if (many_.contains(&fn) && out_.kernel(kernels.kernel)->batched.empty())
        add_batched(kernels.kernel, call, fn);
      if (const Symbol batched = out_.kernel(kernels.kernel)->batched; !batched.empty())
        tell(batched.str(), call);
      return call_kernel(b, kernels, call, fn);
    } catch (const op::RelationError& error) {
      refuse(pass_.diagnostics, call.span, cat("cannot lower ", describe(fn, " + ", 12), ": ", error.reason));
      return &call;
    }
  }

  // --- user kernels ---

  // The name of the kernel for the extents of the call; nothing if it stays as it is.
  std::optional<std::string> user_kernel_for(const Call& call, const kernel::Kernel& k) {
    const auto extents = analysis::extents_at(call, k);
    const bool schedules = pass_.target.gpu && !k.external;
    if (!extents || (extents->empty() && !schedules)) return std::nullopt;
    auto [it, made_now] = user_kernels_.emplace(std::pair(k.name.str(), *extents), "");
    if (!made_now) return it->second;
    const std::string base = cat(k.name.text(), extents->empty() ? "" : "_", join(*extents, "_"));
    size_t next = 0;
    it->second = fresh([&] { return next++ == 0 && base != k.name.text() ? base : cat(base, "_", next); });
    // Known extents settle some of its checks.
    const kernel::Kernel made =
        kernel::with_explicit_checks(*analysis::with_extents(context_, k, *extents, it->second));
    out_.set_kernel(it->second, lowerer_.lower_user_kernel(context_.arena().make<kernel::Kernel>(made)));
    return it->second;
  }

  Expr call_user_kernel(relay::Builder& b, const Call& call, const kernel::Kernel& k) {
    const std::optional<std::string> name = user_kernel_for(call, k);
    tell(name ? *name : k.name.str(), call);
    return name ? b.call(b.global(*name), call.args, {}, call.type) : &call;
  }

  // Kernels of constant extents keep their names; so do those of open ones and those
  // that are values.
  void schedule_kept_kernels(const Module& rewritten) {
    std::set<Symbol> used;
    for (const auto& [name, fn] : rewritten.functions()) {
      for (Symbol global : mentioned_globals(fn)) {
        const kernel::Kernel* k = m_.kernel(global.text());
        if (k && used.insert(global).second && !k->batched.empty()) used.insert(k->batched);
      }
    }
    for (Symbol name : used) out_.set_kernel(name.text(), lowerer_.lower_user_kernel(m_.kernel(name.text())));
  }

  const PassContext& pass_;
  const Module m_;
  Module out_;
  Context& context_;
  Lowerer lowerer_;
  size_t number_;
  std::unordered_set<const Fn*> many_;  // that may get a kernel for many calls at once
  // Kernels made so far, by the structural hash of the function they came from.
  std::multimap<uint64_t, std::pair<const Fn*, Made>> made_;
  // User kernels, by what they are for: the kernel's name and the extents.
  std::map<std::pair<std::string, std::vector<int64_t>>, std::string> user_kernels_;
};

// Says which operator is left because `fuse` has not run.
void tell_of_operators(const Module& m, const PassContext& pass) {
  if (!pass.on_reason || analysis::is_fused(m)) return;
  for (const auto& [name, fn] : m.functions()) {
    for (Expr e : post_order(fn)) {
      const op::OpDef* def = op::callee(e);
      if (!def || !def->lower) continue;
      const std::string place = m.context().sources().place(e->span);
      pass.stays(cat("`", def->name, "`", place.empty() ? "" : cat(" (", place, ")"),
                     " is in no primitive function: run `fuse` first"));
      return;
    }
  }
}

Module run(const Module& written, const PassContext& pass) {
  // Messages name kernels and extents as the program does, so checks come before extents are known.
  const Module m = analysis::with_explicit_checks(written);
  tell_of_operators(written, pass);
  const bool possible = within_limits(m, pass.diagnostics) && takes_tensors(m, pass.diagnostics);
  return possible ? ModuleLowering(m, pass).run() : written;
}

}  // namespace

const Pass kLower = {
    .name = "lower",
    .doc = "turn primitive functions into kernels, scheduled for the target",
    .run = run,
};

}  // namespace relay::passes
