// lower: each function marked `Primitive` becomes a kernel of the module, and its call a
// call of that kernel.
//
// A kernel is what the operators' own lowerings say, one after the other, scheduled for the target.
// It begins with what the operators' relations leave to be compared when the program runs. Equal
// functions give one kernel; an operator whose extents depend on data (OpDef::extents) gives two,
// and the first one tells the second its extents. Operators that are left outside of primitive
// functions stay operator calls. User kernels are made for the extents of each call
// where these are constant, and scheduled where their form allows it
// (kernel/schedule/plain_form.h). A kernel that is called where recursion branches gets a batched
// one beside it (recursion.h).
#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "analysis/effects.h"
#include "analysis/kernel_extents.h"
#include "analysis/primitives.h"
#include "analysis/recursion.h"
#include "analysis/user_kernels.h"
#include "base/cat.h"
#include "base/check.h"
#include "base/failure.h"
#include "ir/analysis.h"
#include "ir/rewrite.h"
#include "kernel/batched.h"
#include "kernel/builder.h"
#include "kernel/execute.h"
#include "kernel/explicit_checks.h"
#include "kernel/schedule/cpu.h"
#include "kernel/schedule/gpu.h"
#include "kernel/schedule/plain_form.h"
#include "kernel/schedule/stage.h"
#include "kernel/statements.h"
#include "op/apply.h"
#include "op/registry.h"
#include "passes/fresh_extents.h"
#include "passes/lets.h"
#include "passes/pass.h"

namespace relay::passes {
namespace {

// "nn.conv2d + add + @scale", for people; and a short form of it for the kernel's name.
std::string describe(const Fn& fn, std::string_view separator, size_t most) {
  std::vector<std::string> names;
  for (Expr e : post_order(fn.body)) {
    if (const op::OpDef* def = op::callee(e)) names.push_back(def->name);
    const auto* call = e->as<Call>();
    if (const auto* kernel = call ? call->callee->as<Global>() : nullptr)
      names.push_back(cat("@", kernel->name.text()));
  }
  const size_t shown = std::min(names.size(), most);
  std::string text = join(std::span(names).first(shown), separator);
  if (shown < names.size())
    text += cat(separator, names.size() - shown, separator == "_" ? "_more" : " more");
  return text;
}

std::string kernel_name(const Fn& fn, size_t number) {
  std::string name = describe(fn, "_", 4);
  std::erase(name, '@');
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return cat("k", number, "_", name);
}

// Constants within the function that are no part of the code: one element is, more are the kernel's
// further arguments.
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

// The primitive functions of which many calls may wait for each other and be made at once: none of
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

class Lowerer {
 public:
  Lowerer(const Module& m, const PassContext& pass)
      : context_(m.context()), own_(m), target_(pass.target), schedule_(pass.schedule) {}

  // Throws RelationError if an operator cannot be lowered for these types.
  kernel::Kernel lower(const Fn& fn, std::string_view name) { return scheduled(written(fn, name)); }

  // A kernel of the program; as it is written if it cannot be scheduled. For the CPU it gives the
  // same bits as that.
  const kernel::Kernel* lower_own(const kernel::Kernel* k) const {
    if (k->external) return k;
    if (target_.gpu)
      return has_launches(*k) ? k : keep(kernel::schedule::schedule_for_gpu(*k, *target_.gpu, schedule_));
    const auto plain = schedule_.opt_level > 0 ? kernel::schedule::plain_form(*k) : std::nullopt;
    return plain ? keep(scheduled({plain->kernel, plain->requirements, /*in_order=*/true})) : k;
  }

  // That which does many calls of the function's kernel at once; nothing if all that they read is
  // the same, as constants are.
  std::optional<kernel::Kernel> lower_batched(const Call& call, const Fn& fn, std::string_view name) {
    Written w = written(fn, name);
    const kernel::Kernel one = w.kernel;
    std::vector<bool> varies;
    for (Expr arg : call.args)
      varies.resize(varies.size() + op::flatten(std::vector<Type>{arg->type}).size(), !arg->as<Constant>());
    varies.resize(one.inputs.size());
    for (size_t i = 0; i < varies.size(); ++i) varies[i] = varies[i] && !kernel::is_weight(*one.inputs[i]);
    if (std::none_of(varies.begin(), varies.end(), [](bool v) { return v; })) return std::nullopt;
    w.kernel = kernel::batched(context_.pool(), one, varies, name);
    return scheduled(w);
  }

  // The kernel that tells the function's its extents. What has such extents is opaque: it is all
  // of the function.
  kernel::Kernel lower_extents(const Fn& fn, std::string_view name) {
    const auto* call = fn.body->as<Call>();
    CHECK(call, "an operator whose extents depend on data was fused");
    Function f = named_extents(fn);
    kernel::Builder k(context_.pool());
    take_inputs(k, fn, f);
    for (Expr arg : call->args) {
      if (const auto* c = arg->as<Constant>(); c && c->value->size() == 1)
        f.tensors[arg] = {literal(k, *c->value)};
    }
    compare_extents(*call, f);
    const op::OpDef& def = *op::callee(*call);
    const kernel::Tensor extents = made_by(def.extents, k, *call, f);
    const kernel::Kernel plain = k.finish(name, cat("extents of ", def.name), {extents});
    require_known_shapes(plain);
    return scheduled({plain, f.comparisons});
  }

 private:
  // A kernel as the operators say, and what it begins with.
  struct Written {
    kernel::Kernel kernel;
    std::vector<kernel::Stmt> comparisons = {};
    bool in_order = false;  // kernel::schedule::Settings::in_order
  };

  // A function that is being lowered.
  struct Function {
    std::unordered_map<Expr, Type> types;  // of its parts, with names for extents that are not known
    std::vector<kernel::Expr> read = {};   // the names of those that depend on data
    std::unordered_map<Expr, std::vector<kernel::Tensor>> tensors = {};
    std::vector<kernel::Stmt> comparisons = {};  // what a kernel of it begins with
    bool in_order = false;                       // is there a reduction of the program's own?
  };

  // As the operators say.
  Written written(const Fn& fn, std::string_view name) {
    kernel::Builder k(context_.pool());
    Function f = named_extents(fn);
    take_inputs(k, fn, f);
    if (!f.read.empty()) k.input("e", kInt64, {k.index(static_cast<int64_t>(f.read.size()))});
    for (Expr e : post_order(fn.body)) {
      if (const auto* c = e->as<Constant>(); c && c->value->size() == 1) {
        f.tensors[e] = {literal(k, *c->value)};
      } else if (const auto* tuple = e->as<Tuple>()) {
        for (Expr field : tuple->fields) {
          const auto& parts = f.tensors.at(field);
          f.tensors[e].insert(f.tensors[e].end(), parts.begin(), parts.end());
        }
      } else if (const kernel::Kernel* own = own_.callee(e)) {
        f.tensors[e] = taken_over(k, *own, *e->as<Call>(), f);
      } else if (const auto* call = e->as<Call>()) {
        compare_extents(*call, f);
        f.tensors[e] = made_by(op::callee(*call)->lower, k, *call, f);
      }
    }
    kernel::Kernel plain = k.finish(name, describe(fn, " + ", 12), f.tensors.at(fn.body));
    std::vector<kernel::ReadExtent> read;
    const auto last = static_cast<uint32_t>(plain.inputs.size() - 1);
    for (kernel::Expr v : f.read) read.push_back({v, last, static_cast<int64_t>(read.size())});
    plain.read_extents = context_.arena().list(read);
    require_known_shapes(plain);
    return {plain, f.comparisons, f.in_order};
  }

  void take_inputs(kernel::Builder& k, const Fn& fn, Function& f) {
    for (size_t i = 0; i < fn.params.size(); ++i) {
      const Var* p = fn.params[i];
      for (const TensorType* t : op::flatten(std::vector<Type>{f.types.at(p)})) {
        f.tensors[p].push_back(k.input(cat("x", i), t->dtype, shape_of(*t)));
      }
    }
    for (Expr e : large_constants(fn)) {
      const auto* t = e->type->as<TensorType>();
      f.tensors[e] = {k.input("c", t->dtype, shape_of(*t))};
    }
  }

  const kernel::Kernel* keep(const kernel::Kernel& k) const {
    return context_.arena().make<kernel::Kernel>(k);
  }

  kernel::Kernel scheduled(const Written& w) const {
    kernel::schedule::Settings settings = schedule_;
    settings.in_order = w.in_order;
    kernel::Kernel out = target_.gpu ? kernel::schedule::schedule_for_gpu(w.kernel, *target_.gpu, settings)
                                     : kernel::schedule::schedule_for_cpu(w.kernel, target_.cpu, settings);
    if (w.comparisons.empty()) return out;
    std::vector<kernel::Stmt> body = w.comparisons;
    body.push_back(out.body);
    out.body = kernel::make_sequence(context_.arena(), body);
    return out;
  }

  // What the call's relation could neither prove nor refute.
  void compare_extents(const Call& call, Function& f) {
    const op::OpDef& def = *op::callee(call);
    std::vector<Type> types;
    for (Expr arg : call.args) types.push_back(f.types.at(arg));
    op::Relation relation(context_, types);
    op::relate(relation, def, call.attrs);
    for (const op::DimCheck& check : relation.checks()) {
      const kernel::Expr a = check.a.expr(context_.pool()), b = check.b.expr(context_.pool()),
                         one = context_.pool().integer(1);
      kernel::Expr holds = equal(a, b);
      if (op::one_fits_first(check)) holds = logical_or(holds, equal(a, one));
      if (op::one_fits_second(check)) holds = logical_or(holds, equal(b, one));
      const auto asks_so = [&](kernel::Stmt s) { return s->as<kernel::Require>()->condition == holds; };
      if (std::any_of(f.comparisons.begin(), f.comparisons.end(), asks_so)) continue;
      const std::string message =
          cat(kWrongShape, "`", def.name, "`: ", show(a), " and ", show(b), " ", op::what_is_wrong(check),
              " (called with ", join(types, ", ", [](Type t) { return show(t, 80); }), ")");
      f.comparisons.push_back(kernel::make_require(context_.arena(), holds, context_.symbol(message)));
    }
  }

  // A kernel is told its inputs' shapes, the extents that it reads, and nothing else.
  static void require_known_shapes(const kernel::Kernel& k) {
    std::vector<kernel::Expr> extents;
    for (const kernel::Buffer* b : k.inputs) extents.insert(extents.end(), b->shape.begin(), b->shape.end());
    auto known = kernel::determined_by(extents);
    for (const kernel::ReadExtent& r : k.read_extents) known.insert(r.variable.get());
    for (kernel::Expr v : kernel::shape_parameters(k)) {
      if (!known.contains(v.get()))
        throw op::RelationError{op::kAttributes, cat("its arguments do not determine `", show(v), "`")};
    }
  }

  // The types of the function's parts, with a shape variable for each extent of a parameter that is
  // not known: a kernel reads it off its argument. So has each extent that depends on data, which a
  // kernel reads from its last argument.
  Function named_extents(const Fn& fn) {
    std::vector<Type> given;
    for (const Var* p : fn.params) given.push_back(p->type);
    FreshExtents fresh(context_, given);
    Function out;
    std::unordered_map<Expr, Type>& types = out.types;
    for (const Var* p : fn.params) types[p] = fresh.name(p->type);
    const size_t of_params = fresh.made().size();
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
        const op::OpDef* def = op::callee(*call);
        if (const kernel::Kernel* own = own_.callee(call)) {
          if (changed) type = analysis::result_of(context_, *own, extents_of(*own, parts));
        } else if (!def) {
          throw op::RelationError{op::kAttributes, "it calls what is neither an operator nor a kernel"};
        } else if (changed) {
          type = op::infer(context_, *def, parts, call->attrs);
        }
        if (def && def->extents) type = fresh.name(type);
      } else if (const auto* tuple = e->as<Tuple>()) {
        for (Expr field : tuple->fields) add(field);
        if (changed) type = context_.tuple_type(parts);
      }
    }
    for (size_t i = of_params; i < fresh.made().size(); ++i) out.read.push_back(fresh.made()[i].symbolic());
    return out;
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

  // The shape variables of a kernel of the program.
  analysis::GivenExtents extents_of(const kernel::Kernel& own, std::span<const Type> args) const {
    auto extents = analysis::given_extents(context_, args, own);
    if (!extents)
      throw op::RelationError{op::kAttributes,
                              cat("what `@", own.name.text(), "` is called with may not fit")};
    return *extents;
  }

  // What a kernel of the program computes becomes a part of this one.
  std::vector<kernel::Tensor> taken_over(kernel::Builder& k, const kernel::Kernel& own, const Call& call,
                                         Function& f) {
    const auto plain = kernel::schedule::plain_form(own);
    if (!plain || !plain->requirements.empty() || !own.read_extents.empty()) {
      throw op::RelationError{op::kAttributes,
                              cat("`@", own.name.text(),
                                  "` may fail, or is not of a form that can be part of another "
                                  "kernel: it has to be called outside of the function")};
    }
    for (const kernel::schedule::Stage& s : kernel::schedule::stages_of(plain->kernel))
      f.in_order |= s.kind == kernel::schedule::StageKind::kReduce;
    std::vector<kernel::Tensor> in;
    std::vector<Type> types;
    for (Expr arg : call.args) {
      in.push_back(f.tensors.at(arg)[0]);
      types.push_back(f.types.at(arg));
    }
    return k.take_over(plain->kernel, in, extents_of(own, types));
  }

  // What a rule of the call's operator makes of it.
  template <class Result>
  Result made_by(const std::function<Result(kernel::Builder&, const Attrs&, const op::Lowering&)>& rule,
                 kernel::Builder& k, const Call& call, const Function& f) {
    if (!rule)
      throw op::RelationError{op::kAttributes,
                              cat("operator `", op::callee(call)->name, "` has no lowering")};
    std::vector<kernel::Tensor> in;
    std::vector<Type> types;
    for (Expr arg : call.args) {
      const auto& parts = f.tensors.at(arg);
      in.insert(in.end(), parts.begin(), parts.end());
      types.push_back(f.types.at(arg));
    }
    const std::vector<const TensorType*> arg_types = op::flatten(types);
    const std::vector<const TensorType*> out_types = op::flatten(std::vector<Type>{f.types.at(&call)});
    for (const TensorType* t : out_types) (void)shape_of(*t);  // says what is not known
    k.set_operator(op::callee(call)->name);
    return rule(k, call.attrs, op::Lowering{in, arg_types, out_types, context_.pool()});
  }

  Context& context_;
  analysis::UserKernels own_;
  const target::Target& target_;
  kernel::schedule::Settings schedule_;
};

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

Module run(const Module& written, const PassContext& pass) {
  // Messages name kernels and extents as the program does, so checks come before extents are known.
  const Module m = analysis::with_explicit_checks(written);
  Module out = m;
  Context& context = m.context();
  Lowerer lowerer(m, pass);
  // Kernels made so far, by the structural hash of the function they came from.
  std::multimap<uint64_t, std::pair<const Fn*, Made>> made;
  size_t number = m.kernels().size();

  // The program may have a kernel or a function of that name.
  const auto fresh = [&](const auto& next) {
    std::string name = next();
    while (out.kernel(name) || out.function(name)) name = next();
    return name;
  };
  const auto kernels_for = [&](const Fn* fn) -> Made {
    const uint64_t hash = structural_hash(fn);
    for (auto [it, end] = made.equal_range(hash); it != end; ++it) {
      if (alpha_equal(it->second.first, fn)) return it->second.second;
    }
    Made now{fresh([&] { return kernel_name(*fn, number++); })};
    const Activity activity("lowering", now.kernel);
    const auto* kernel = context.arena().make<kernel::Kernel>(lowerer.lower(*fn, now.kernel));
    out.set_kernel(now.kernel, kernel);
    if (!kernel->read_extents.empty()) {
      now.extents = fresh([&] { return kernel_name(*fn, number++) + "_extents"; });
      now.extent_count = static_cast<int64_t>(kernel->read_extents.size());
      out.set_kernel(now.extents,
                     context.arena().make<kernel::Kernel>(lowerer.lower_extents(*fn, now.extents)));
    }
    made.emplace(hash, std::pair(fn, now));
    return now;
  };

  const std::unordered_set<const Fn*> many =
      pass.target.gpu ? std::unordered_set<const Fn*>() : may_be_batched(m);
  const auto add_batched = [&](const std::string& name, const Call& call, const Fn& fn) {
    size_t next = 0;
    const std::string batched =
        fresh([&] { return next++ == 0 ? cat(name, "_batched") : cat(name, "_batched_", next); });
    const std::optional<kernel::Kernel> made_of_many = lowerer.lower_batched(call, fn, batched);
    if (!made_of_many) return;
    out.set_kernel(batched, context.arena().make<kernel::Kernel>(*made_of_many));
    kernel::Kernel one = *out.kernel(name);
    one.batched = context.symbol(batched);
    out.set_kernel(name, context.arena().make<kernel::Kernel>(one));
  };

  // User kernels, by what they are for.
  std::map<std::pair<std::string, std::vector<int64_t>>, std::string> own;
  const auto own_kernel_for = [&](const Call& call, const kernel::Kernel& k) -> std::optional<std::string> {
    const auto extents = analysis::extents_at(call, k);
    const bool schedules = pass.target.gpu && !k.external;
    if (!extents || (extents->empty() && !schedules)) return std::nullopt;
    auto [it, made_now] = own.emplace(std::pair(k.name.str(), *extents), "");
    if (!made_now) return it->second;
    const std::string base = cat(k.name.text(), extents->empty() ? "" : "_", join(*extents, "_"));
    size_t next = 0;
    it->second = fresh([&] { return next++ == 0 && base != k.name.text() ? base : cat(base, "_", next); });
    // Known extents settle some of its checks.
    const kernel::Kernel made =
        kernel::with_explicit_checks(*analysis::with_extents(context, k, *extents, it->second));
    out.set_kernel(it->second, lowerer.lower_own(context.arena().make<kernel::Kernel>(made)));
    return it->second;
  };

  // What stands in primitive functions becomes a part of their kernels.
  std::unordered_set<Expr> inside;
  if (!m.kernels().empty()) {
    for (const auto& [name, function] : m.functions())
      inside.merge(analysis::inside_primitives(post_order(function)));
  }

  const auto tell = [&](const std::string& kernel, const Call& replaced) {
    if (pass.on_kernel) pass.on_kernel(context.symbol(kernel), replaced);
  };
  const analysis::UserKernels own_kernels(m);
  Module rewritten = rewrite(m, [&](relay::Builder& b, Expr e) -> Expr {
    const auto* call = e->as<Call>();
    const kernel::Kernel* k = own_kernels.callee(e);
    if (k && !inside.contains(e)) {
      const std::optional<std::string> name = own_kernel_for(*call, *k);
      tell(name ? *name : k->name.str(), *call);
      return name ? b.call(b.global(*name), call->args, {}, call->type) : e;
    }
    const auto* fn = call ? call->callee->as<Fn>() : nullptr;
    if (!fn || !fn->attrs.flag("Primitive")) return e;
    try {
      const Made kernels = kernels_for(fn);
      tell(kernels.kernel, *call);
      if (!kernels.extents.empty()) tell(kernels.extents, *call);
      if (many.contains(fn) && out.kernel(kernels.kernel)->batched.empty())
        add_batched(kernels.kernel, *call, *fn);
      if (const Symbol batched = out.kernel(kernels.kernel)->batched; !batched.empty())
        tell(batched.str(), *call);
      return call_kernel(b, kernels, *call, *fn);
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
  // Kernels of constant extents keep their names; so do those of open ones and those
  // that are values.
  std::set<Symbol> used;
  for (const auto& [name, fn] : rewritten.functions()) {
    for (Symbol global : mentioned_globals(fn)) {
      const kernel::Kernel* k = m.kernel(global.text());
      if (k && used.insert(global).second && !k->batched.empty()) used.insert(k->batched);
    }
  }
  for (Symbol name : used) out.set_kernel(name.text(), lowerer.lower_own(m.kernel(name.text())));
  return out;
}

}  // namespace

const Pass kLower = {
    .name = "lower",
    .doc = "turn primitive functions into kernels, scheduled for the target",
    .run = run,
};

}  // namespace relay::passes
