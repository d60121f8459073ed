#include "passes/lowerer.h"

#include <algorithm>
#include <cctype>
#include <unordered_map>

#include "analysis/kernel_extents.h"
#include "analysis/user_kernels.h"
#include "base/cat.h"
#include "base/check.h"
#include "base/failure.h"
#include "ir/analysis.h"
#include "ir/fields.h"
#include "kernel/batched.h"
#include "kernel/builder.h"
#include "kernel/execute.h"
#include "kernel/limits.h"
#include "kernel/schedule/canonical_form.h"
#include "kernel/schedule/cpu/schedule.h"
#include "kernel/schedule/gpu/schedule.h"
#include "kernel/schedule/stage.h"
#include "kernel/statements.h"
#include "op/apply.h"
#include "op/registry.h"
#include "op/whole_extents.h"
#include "passes/fresh_extents.h"

namespace relay::passes {

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

std::vector<Expr> large_constants(const Fn& fn) {
  std::vector<Expr> out;
  for (Expr e : post_order(fn.body)) {
    if (const auto* c = e->as<Constant>(); c && c->value->size() != 1) out.push_back(e);
  }
  return out;
}

namespace {

// Does the kernel say itself what the threads of a GPU do?
bool has_launches(const kernel::Kernel& k) {
  bool found = false;
  kernel::visit(k.body, [&](kernel::Stmt s) {
    const auto* loop = s->as<kernel::For>();
    found |= loop && loop->how >= kernel::ForKind::kBlockX;
  });
  return found;
}

}  // namespace

class Lowerer::Writer {
 public:
  Writer(const Module& m, const PassContext& pass)
      : context_(m.context()), user_kernels_(m), target_(pass.target), schedule_(pass.schedule) {}

  kernel::Kernel lower(const Fn& fn, std::string_view name) { return scheduled(written(fn, name)); }

  const kernel::Kernel* lower_user_kernel(const kernel::Kernel* k) const {
    if (k->external) return k;
    if (target_.gpu)
      return has_launches(*k) ? k
                              : keep(kernel::schedule::gpu::schedule_for_gpu(*k, *target_.gpu, schedule_));
    const auto canonical = schedule_.opt_level > 0 ? kernel::schedule::canonical_form(*k) : std::nullopt;
    return canonical ? keep(scheduled({canonical->kernel, canonical->requirements, /*in_order=*/true})) : k;
  }

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
    require_within_limits(plain);
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
    for (Expr e : post_order(fn.body)) add_part(k, e, f);
    kernel::Kernel plain = k.finish(name, describe(fn, " + ", 12), tensors_of(fn.body, f));
    std::vector<kernel::ReadExtent> read;
    const auto last = static_cast<uint32_t>(plain.inputs.size() - 1);
    for (kernel::Expr v : f.read) read.push_back({v, last, static_cast<int64_t>(read.size())});
    plain.read_extents = context_.arena().list(read);
    require_within_limits(plain);
    require_known_shapes(plain);
    return {plain, f.comparisons, f.in_order};
  }

  // The tensors of a part of a function, of whose children there are some already.
  void add_part(kernel::Builder& k, Expr e, Function& f) {
    match(
        e,
        [&](const Constant& c) {
          if (c.value->size() == 1) f.tensors[e] = {literal(k, *c.value)};  // others are inputs
        },
        [&](const Var& v) {
          if (!f.tensors.contains(e))
            throw op::RelationError{op::kAttributes,
                                    cat("its variable `%", v.name.text(), "` comes from outside")};
        },
        [&](const Tuple& tuple) {
          std::vector<kernel::Tensor> parts;
          for (Expr field : tuple.fields) {
            const auto& of_field = tensors_of(field, f);
            parts.insert(parts.end(), of_field.begin(), of_field.end());
          }
          f.tensors[e] = std::move(parts);
        },
        [&](const Call& call) {
          const kernel::Kernel* own = user_kernels_.callee(e);
          if (!own) compare_extents(call, f);
          f.tensors[e] = own ? taken_over(k, *own, call, f) : made_by(op::callee(call)->lower, k, call, f);
        },
        [](const OneOf<Global, OpRef, CtorRef> auto&) {},  // callees
        [&](const OneOf<Proj, Fn, Let, If, Match, RefNew, RefRead, RefWrite> auto&) {
          throw op::RelationError{op::kAttributes,
                                  "a kernel is made of calls of operators and kernels, and of tuples"};
        });
  }

  static const std::vector<kernel::Tensor>& tensors_of(Expr part, const Function& f) {
    const auto it = f.tensors.find(part);
    if (it == f.tensors.end()) throw op::RelationError{op::kAttributes, "a part of it is no tensor"};
    return it->second;
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
    kernel::Kernel out = target_.gpu
                             ? kernel::schedule::gpu::schedule_for_gpu(w.kernel, *target_.gpu, settings)
                             : kernel::schedule::cpu::schedule_for_cpu(w.kernel, target_.cpu, settings);
    if (w.comparisons.empty()) return out;
    std::vector<kernel::Stmt> body = w.comparisons;
    body.push_back(out.body);
    out.body = kernel::make_sequence(context_.arena(), body);
    return out;
  }

  // For a message: as a type shows it.
  static std::string named(kernel::Expr extent) { return Dim(extent).is_too_complex() ? "?" : show(extent); }

  // What the call's relation could neither prove nor refute.
  void compare_extents(const Call& call, Function& f) {
    const op::OpDef& def = *op::callee(call);
    std::vector<Type> types;
    for (Expr arg : call.args) types.push_back(f.types.at(arg));
    op::Relation relation(context_, types);
    op::relate(relation, def, call.attrs);
    for (const op::DimCheck& check : relation.checks()) {
      if (check.a.is_unknown() || check.b.is_unknown()) continue;  // an attribute `?` fits any extent
      const kernel::Expr a = check.a.expr(context_.pool()), b = check.b.expr(context_.pool()),
                         one = context_.pool().integer(1);
      kernel::Expr holds = equal(a, b);
      if (op::one_fits_first(check)) holds = logical_or(holds, equal(a, one));
      if (op::one_fits_second(check)) holds = logical_or(holds, equal(b, one));
      const auto asks_so = [&](kernel::Stmt s) { return s->as<kernel::Require>()->condition == holds; };
      if (std::any_of(f.comparisons.begin(), f.comparisons.end(), asks_so)) continue;
      const std::string message =
          cat(kWrongShape, "`", def.name, "`: ", named(a), " and ", named(b), " ", op::what_is_wrong(check),
              " (called with ", join(types, ", ", [](Type t) { return show(t, 80); }), ")");
      f.comparisons.push_back(kernel::make_require(context_.arena(), holds, context_.symbol(message)));
    }
  }

  static void require_within_limits(const kernel::Kernel& k) {
    if (std::string deep = kernel::too_deep(k); !deep.empty())
      throw op::RelationError{op::kAttributes, std::move(deep)};
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

  // Has each of the type's tensors extents that an expression says?
  static bool is_known(Type type) {
    const std::vector<const TensorType*> all = op::flatten(std::vector<Type>{type});
    return std::none_of(all.begin(), all.end(), [](const TensorType* t) {
      return std::any_of(t->dims.begin(), t->dims.end(), [](Dim d) { return d.is_unknown(); });
    });
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
        if (const kernel::Kernel* own = user_kernels_.callee(call)) {
          if (changed) type = analysis::result_of(context_, *own, extents_of(*own, parts));
        } else if (!def) {
          throw op::RelationError{op::kAttributes, "it calls what is neither an operator nor a kernel"};
        } else if (changed || !is_known(type)) {
          type = op::infer_whole(context_, *def, parts, call->attrs);
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
    const auto canonical = kernel::schedule::canonical_form(own);
    if (!canonical || !canonical->requirements.empty() || !own.read_extents.empty()) {
      throw op::RelationError{op::kAttributes,
                              cat("`@", own.name.text(),
                                  "` may fail, or is not of a form that can be part of another "
                                  "kernel: it has to be called outside of the function")};
    }
    for (const kernel::schedule::Stage& s : kernel::schedule::stages_of(canonical->kernel))
      f.in_order |= s.kind == kernel::schedule::StageKind::kReduce;
    std::vector<kernel::Tensor> in;
    std::vector<Type> types;
    for (Expr arg : call.args) {
      in.push_back(f.tensors.at(arg)[0]);
      types.push_back(f.types.at(arg));
    }
    return k.take_over(canonical->kernel, in, extents_of(own, types));
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
  analysis::UserKernels user_kernels_;
  const target::Target& target_;
  kernel::schedule::Settings schedule_;
};

Lowerer::Lowerer(const Module& m, const PassContext& pass) : writer_(std::make_unique<Writer>(m, pass)) {}
Lowerer::~Lowerer() = default;

kernel::Kernel Lowerer::lower(const Fn& fn, std::string_view name) { return writer_->lower(fn, name); }
const kernel::Kernel* Lowerer::lower_user_kernel(const kernel::Kernel* k) const {
  return writer_->lower_user_kernel(k);
}
std::optional<kernel::Kernel> Lowerer::lower_batched(const Call& call, const Fn& fn, std::string_view name) {
  return writer_->lower_batched(call, fn, name);
}
kernel::Kernel Lowerer::lower_extents(const Fn& fn, std::string_view name) {
  return writer_->lower_extents(fn, name);
}

}  // namespace relay::passes
