#include "tools/chosen_extents.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/cat.h"
#include "driver/choices.h"
#include "driver/input_shapes.h"
#include "ir/type_parts.h"
#include "kernel/expr.h"
#include "passes/map_types.h"
#include "tools/remedy.h"
#include "tools/small_extents.h"
#include "typecheck/check.h"

namespace relay::tools {
namespace {

using frontend::InputDim;
using frontend::Port;

// Type checks, and readings of a file, which take longer.
constexpr size_t kMostChecks = 64, kMostReadings = 12;
// Of made-up inputs, so that small extents of many axes do not fill the memory.
constexpr int64_t kMostElements = int64_t{1} << 28;

// The names of the shape variables in the types of the inputs, in their order.
std::vector<std::string> open_variables(const Fn& fn) {
  std::vector<std::string> out;
  for (const Var* x : fn.params) {
    for (const Dim& d : x->type->as<TensorType>()->dims) {
      if (!d.is_symbolic()) continue;
      for (const kernel::Expr v : kernel::variables(d.symbolic())) {
        if (std::find(out.begin(), out.end(), v->name.str()) == out.end()) out.push_back(v->name.str());
      }
    }
  }
  return out;
}

// Does a tensor in a value of the type have no elements?
bool has_empty_tensor(Type type) {
  bool found = false;
  for_each_type_in(type, [&](Type t) {
    const auto* tensor = t ? t->as<TensorType>() : nullptr;
    const auto is_zero = [](const Dim& d) { return d.is_const() && d.value() == 0; };
    found |= tensor && std::any_of(tensor->dims.begin(), tensor->dims.end(), is_zero);
    return t && t->kind == TypeKind::kTuple;
  });
  return found;
}

// The extents of an input, whose variables are bound: 1 for what the text leaves to the run.
std::optional<Shape> small_shape(const TensorType& type) {
  Shape out;
  int64_t elements = 1;
  for (const Dim& d : type.dims) {
    const int64_t extent = d.is_const() ? d.value() : 1;
    if (d.is_symbolic() || extent < 0 || __builtin_mul_overflow(elements, extent, &elements) ||
        elements > kMostElements)
      return std::nullopt;
    out.push_back(extent);
  }
  return out;
}

// The shapes of all inputs of a function; nothing if one cannot be had.
std::optional<std::vector<Shape>> small_shapes(const Fn& fn) {
  std::vector<Shape> out;
  for (const Var* x : fn.params) {
    std::optional<Shape> shape = small_shape(*x->type->as<TensorType>());
    if (!shape) return std::nullopt;
    out.push_back(std::move(*shape));
  }
  return out;
}

// The same with these extents of its variables, whether or not it type-checks with them.
std::optional<std::vector<Shape>> shapes_with(const Fn& fn, const std::map<std::string, int64_t>& extents,
                                              Context& context) {
  std::unordered_map<const kernel::ExprNode*, kernel::Expr> by;
  for (const auto& [name, extent] : extents)
    by.emplace(context.pool().shape_variable(name).get(), context.pool().integer(extent));
  std::vector<Shape> out;
  for (const Var* x : fn.params) {
    const auto* type = x->type->as<TensorType>();
    std::vector<Dim> dims;
    for (const Dim& d : type->dims)
      dims.push_back(d.is_symbolic() ? Dim(kernel::substitute(d.symbolic(), by)) : d);
    std::optional<Shape> shape = small_shape(*context.tensor_type(dims, type->dtype)->as<TensorType>());
    if (!shape) return std::nullopt;
    out.push_back(std::move(*shape));
  }
  return out;
}

// "n = 1, h = 3", and what else was made up.
std::string listed(const std::vector<std::string>& names, const std::vector<int64_t>& extents) {
  size_t i = 0;
  return join(names, ", ", [&](const std::string& name) { return cat(name, " = ", extents[i++]); });
}

// What the other axes are called: "axis 0 of `x` = 1".
std::string listed_unknown(const Fn& fn, const std::vector<std::string>& inputs) {
  std::vector<std::string> out;
  for (size_t i = 0; i < fn.params.size(); ++i) {
    const auto& dims = fn.params[i]->type->as<TensorType>()->dims;
    for (size_t k = 0; k < dims.size(); ++k) {
      if (dims[k].is_unknown()) out.push_back(cat("axis ", k, " of `", inputs[i], "` = 1"));
    }
  }
  return join(out, ", ");
}

// Says what was chosen, and how to choose others.
void tell(const std::string& chosen, const std::optional<driver::KnownInputs>& others,
          const Session& session) {
  session.say(cat(
      "relay: extents that nobody gave are the smallest that type-check: ", chosen, "\n",
      others ? cat("relay: for others, with your numbers: ", command_with(session.arguments, *others), "\n")
             : "relay: give inputs of others with --inputs\n"));
}

}  // namespace

std::optional<std::vector<Shape>> choose_shapes(const driver::Model& model, Session& session) {
  const Fn& fn = model.entry();
  const std::map<std::string, int64_t> given =
      driver::given_extents(fn, model.input_names, model.known.shapes);
  std::vector<std::string> variables = open_variables(fn);
  std::erase_if(variables, [&](const std::string& name) { return given.contains(name); });
  const auto others = example(ports_of(fn, model.input_names), model.known);
  std::optional<std::vector<Shape>> good, poor;
  std::optional<std::vector<int64_t>> avoidable;  // wrong for a branch, which a run may not take
  const auto fit = [&](const std::vector<int64_t>& extents) {
    std::map<std::string, int64_t> values = given;
    for (size_t i = 0; i < variables.size(); ++i) values[variables[i]] = extents[i];
    Diagnostics found;
    const Result<Module> checked = typecheck::check(
        values.empty() ? model.module : passes::bind_shape_variables(model.module, model.function, values),
        found);
    if (!checked && !avoidable && driver::may_avoid(model.module, model.function, found)) avoidable = extents;
    const Fn* bound = checked ? checked->function(model.function) : nullptr;
    std::optional<std::vector<Shape>> shapes = bound ? small_shapes(*bound) : std::nullopt;
    if (!shapes) return Fit::kNone;
    const bool empty = has_empty_tensor(bound->body->type);
    // What fits last is what is chosen, but for empty results: there the first is.
    if (!empty) good = std::move(shapes);
    if (empty && !poor) poor = std::move(shapes);
    return empty ? Fit::kEmptyResult : Fit::kGood;
  };
  const auto chosen = small_extents(variables.size(), kMostChecks, fit);
  if (!chosen && avoidable) {
    std::map<std::string, int64_t> values = given;
    for (size_t i = 0; i < variables.size(); ++i) values[variables[i]] = (*avoidable)[i];
    if (std::optional<std::vector<Shape>> shapes = shapes_with(fn, values, model.module.context())) {
      if (!variables.empty())
        session.say(cat("relay: extents that nobody gave, of which none fit each way through the program: ",
                        listed(variables, *avoidable), "\n"));
      return shapes;
    }
  }
  if (!chosen) {
    session.fail(kUsage, cat("no small extents were found with which the program type-checks, of: ",
                             join(variables, ", "), ": give them with --input-shapes, or --inputs"));
    if (others)
      session.remedy("extents for its inputs, with your numbers in the place of these:",
                     command_with(session.arguments, *others));
    return std::nullopt;
  }
  std::vector<std::string> parts;
  for (const std::string& part : {listed(variables, *chosen), listed_unknown(fn, model.input_names)}) {
    if (!part.empty()) parts.push_back(part);
  }
  tell(join(parts, ", "), others, session);
  return good ? good : poor;
}

std::optional<driver::KnownInputs> choose_known(const std::vector<Port>& inputs,
                                                const driver::KnownInputs& given,
                                                const std::function<bool(const driver::KnownInputs&)>& reads,
                                                const Session& session) {
  const auto others = example(inputs, given);
  if (!others) return std::nullopt;
  // An axis has one extent wherever its name stands; one without a name is an axis of its own.
  std::vector<std::string> names;
  driver::InputShapes shapes = given.shapes;
  std::vector<std::pair<InputDim*, size_t>> open;
  for (const Port& p : inputs) {
    if (!p.dims || !others->shapes.contains(p.name)) continue;
    std::vector<InputDim>& dims = shapes.emplace(p.name, *p.dims).first->second;
    for (size_t k = 0; k < dims.size() && dims.size() == p.dims->size(); ++k) {
      if (dims[k].extent < 0) dims[k] = p.dims->at(k);
      if (dims[k].extent >= 0) continue;
      const std::string name = dims[k].name.empty() ? cat("axis ", k, " of `", p.name, "`") : dims[k].name;
      const auto at = std::find(names.begin(), names.end(), name);
      open.emplace_back(&dims[k], static_cast<size_t>(at - names.begin()));
      if (at == names.end()) names.push_back(name);
    }
  }
  const auto with = [&](const std::vector<int64_t>& extents) {
    for (const auto& [dim, place] : open) dim->extent = extents[place];
    return driver::KnownInputs{shapes, given.values};
  };
  const auto chosen = small_extents(names.size(), kMostReadings, [&](const std::vector<int64_t>& extents) {
    return reads(with(extents)) ? Fit::kGood : Fit::kNone;
  });
  if (!chosen) return std::nullopt;
  tell(listed(names, *chosen), others, session);
  return with(*chosen);
}

}  // namespace relay::tools
