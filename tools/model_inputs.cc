// Values for the inputs of a model, from files or made up, and what follows from their extents.
#include <algorithm>
#include <unordered_map>

#include "analysis/port_names.h"
#include "base/cat.h"
#include "base/failure.h"
#include "driver/composite_inputs.h"
#include "frontend/data/inputs.h"
#include "interp/machine.h"
#include "passes/map_types.h"
#include "passes/reference.h"
#include "tools/chosen_extents.h"
#include "tools/model.h"
#include "tools/options/values.h"
#include "tools/remedy.h"
#include "typecheck/check.h"

namespace relay::tools {
namespace {

// splitmix64: http://xoshiro.di.unimi.it/splitmix64.c; the same numbers everywhere.
uint64_t next_random(uint64_t& state) {
  uint64_t z = (state += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

void fill(Tensor& t, const std::string& how, uint64_t& state) {
  for (int64_t i = 0; i < t.size(); ++i) {
    if (how == "zeros") continue;
    if (how == "ones") {
      t.set_int(i, 1);
    } else if (how == "range") {
      t.set_int(i, i);
    } else if (t.dtype().is_float()) {
      t.set(i, static_cast<double>(next_random(state) >> 11) * 0x1p-52 - 1);  // [-1, 1)
    } else {
      t.set_int(i, static_cast<int64_t>(next_random(state) &
                                        (t.dtype().is_bool() ? 1 : 3)));  // small: often an index
    }
  }
}

// The names of the tensors that the model's inputs are made of. How many a list has, the file says.
Result<std::vector<std::string>> names_in(const driver::Model& model, const std::string& file,
                                          Diagnostics& diagnostics) {
  const Fn& fn = model.entry();
  if (std::none_of(fn.params.begin(), fn.params.end(),
                   [](const Var* p) { return driver::is_composite(p->type); }))
    return model.all_inputs;
  const Result<frontend::data::NamedTensors> found =
      frontend::data::read_tensors(file, frontend::data::Role::kInput, {}, diagnostics);
  if (!found) return kReported;
  std::vector<std::string> held, out;
  for (const frontend::data::NamedTensor& t : *found) held.push_back(t.name);
  for (const std::string& name : model.all_inputs) {
    const auto at = std::find(model.input_names.begin(), model.input_names.end(), name);
    if (at == model.input_names.end()) {  // fixed
      out.push_back(name);
      continue;
    }
    const Type type = fn.params[static_cast<size_t>(at - model.input_names.begin())]->type;
    for (std::string& n : driver::tensor_names(name, type, held)) out.push_back(std::move(n));
  }
  return out;
}

// The shapes of made-up inputs; nothing if there are none, which is reported.
std::optional<std::vector<Shape>> shapes_of(const driver::Model& model, const InputOptions& options,
                                            Session& session) {
  std::vector<Shape> out;
  for (size_t i = 0; i < model.entry().params.size(); ++i) {
    const auto& tensor = *model.entry().params[i]->type->as<TensorType>();
    if (const auto shape = tensor.static_shape()) {
      out.push_back(*shape);
      continue;
    }
    if (options.chooses_extents) return choose_shapes(model, session);
    session.fail(kUsage, cat("input `", model.input_names[i], "` has type ", show(&tensor),
                             ": give its extents with --input-shapes, or --inputs"));
    suggest_shapes(model, session);
    return std::nullopt;
  }
  return out;
}

// Reports a tensor of another dtype than the input's: nothing is converted.
bool has_dtype(const Value& value, Type type, const std::string& input, Session& session) {
  const auto* wanted = type->as<TensorType>();
  if (!wanted || !value.is_tensor() || value.tensor().dtype() == wanted->dtype) return true;
  return session.fail(kUsage, cat("input `", input, "` has the dtype ", value.tensor().dtype().name(),
                                  ", and the model takes ", wanted->dtype.name(),
                                  ": convert it, as NumPy does by x.astype(\"", wanted->dtype.name(), "\")"));
}

// What the file or folder holds for the inputs.
Result<std::vector<Value>> given_inputs(const driver::Model& model, const std::string& file,
                                        Session& session) {
  const Fn& fn = model.entry();
  std::vector<Value> args;
  Diagnostics diagnostics;
  const Result<std::vector<std::string>> names = names_in(model, file, diagnostics);
  Result<frontend::data::NamedTensors> read =
      names ? frontend::data::read_named(file, *names, frontend::data::Role::kInput, {}, diagnostics,
                                         model.fixed)
            : Result<frontend::data::NamedTensors>(kReported);
  if (!read) {
    session.fail(diagnostics, model.module.context().sources(), kUsage);
    return kReported;
  }
  std::erase_if(*read, [&](const frontend::data::NamedTensor& t) {
    return std::any_of(model.fixed.begin(), model.fixed.end(),
                       [&](const auto& f) { return f.name == t.name; });
  });
  std::unordered_map<const kernel::ExprNode*, int64_t> variables;
  std::span<const frontend::data::NamedTensor> tensors(*read);
  for (size_t i = 0; i < fn.params.size(); ++i) {
    const Type type = fn.params[i]->type;
    Result<Value> value =
        driver::composite_value(model.module, model.input_names[i], type, tensors, diagnostics);
    if (!value) {
      session.fail(diagnostics, model.module.context().sources(), kUsage);
      return kReported;
    }
    if (!has_dtype(*value, type, model.input_names[i], session)) return kReported;
    args.push_back(std::move(*value));
    try {
      interp::check_shapes(std::span(&args.back(), 1), std::span(&type, 1), variables, Span::none());
    } catch (const Trap& trap) {
      session.fail(kUsage, cat("input `", model.input_names[i], "`: ", trap.what()));
      return kReported;
    }
  }
  return args;
}

}  // namespace

void suggest_shapes(const driver::Model& model, const Session& session) {
  const auto ports = ports_of(model.entry(), model.input_names);
  if (const auto known = example(ports, model.known))
    session.remedy("extents for its inputs, with your numbers in the place of these:",
                   command_with(session.arguments, *known));
}

Result<std::vector<Value>> make_inputs(const driver::Model& model, const InputOptions& options,
                                       Session& session) {
  const Fn& fn = model.entry();
  for (size_t i = 0; i < fn.params.size(); ++i) {
    if (fn.params[i]->type->as<TensorType>() || driver::is_composite(fn.params[i]->type)) continue;
    session.fail(kUsage, cat("input `", model.input_names[i], "` of @", model.function, " has type ",
                             show(fn.params[i]->type),
                             ": only tensors, lists and optional values of them can be given; call it from a "
                             "function that takes tensors"));
    return kReported;
  }
  if (!options.inputs.empty()) return given_inputs(model, options.inputs, session);
  uint64_t state = 0;
  std::string how = options.fill;
  if (how.starts_with("seed:")) {
    const std::optional<uint64_t> seed = parse_count(std::string_view(how).substr(5));
    if (!seed) {
      session.fail(kUsage, cat("--fill ", how, ": a seed is a whole number from 0 on"));
      return kReported;
    }
    state = *seed;
    how = "random";
  }
  if (how != "random" && how != "zeros" && how != "ones" && how != "range") {
    session.fail(kUsage, cat("--fill ", how, ": expected random, zeros, ones, range or seed:N"));
    return kReported;
  }
  for (size_t i = 0; i < fn.params.size(); ++i) {
    if (!driver::is_composite(fn.params[i]->type)) continue;
    session.fail(kUsage,
                 cat("input `", model.input_names[i], "` has type ", show(fn.params[i]->type),
                     ": give its elements with --inputs, as `", model.input_names[i], ".0` and so on"));
    return kReported;
  }
  const std::optional<std::vector<Shape>> shapes = shapes_of(model, options, session);
  if (!shapes) return kReported;
  std::vector<Value> args;
  for (size_t i = 0; i < fn.params.size(); ++i) {
    Tensor t(fn.params[i]->type->as<TensorType>()->dtype, (*shapes)[i]);
    fill(t, how, state);
    args.push_back(Value(t));
  }
  return args;
}

Result<driver::Model> specialise(const driver::Model& model, const std::vector<Value>& args,
                                 Session& session) {
  Diagnostics diagnostics;
  Result<driver::Model> out = [&] {
    Progress progress(session, "types");
    progress.step("the model with the extents of its inputs");
    return driver::specialise(model, args, diagnostics);
  }();
  session.fail(diagnostics, model.module.context().sources());
  return out;
}

ModelOptions with_examples(ModelOptions model, const InputOptions& inputs) {
  model.examples = inputs.inputs;
  model.chooses_extents = inputs.inputs.empty();
  return model;
}

Result<driver::Model> load_specialised(const ModelOptions& options, Session& session) {
  Result<driver::Model> model = load_model(options, session);
  if (!model || options.examples.empty() || options.keeps_open) return model;
  const Result<std::vector<Value>> args = make_inputs(*model, {.inputs = options.examples}, session);
  return args ? specialise(*model, *args, session) : kReported;
}

}  // namespace relay::tools
