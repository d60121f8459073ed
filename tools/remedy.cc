#include "tools/remedy.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "base/cat.h"
#include "base/escape.h"

namespace relay::tools {
namespace {

using frontend::InputDim;
using frontend::Port;

// How extents that nobody gave are chosen.
struct Guess {
  bool keeps_batch;           // the first axis stays open
  int64_t image, sequence;    // height and width of what looks like an image, and any other extent
  bool fixes_values = false;  // of small inputs of whole numbers, which often say a size
};

constexpr Guess kGuesses[] = {
    {.keeps_batch = true, .image = 224, .sequence = 128},
    {.keeps_batch = false, .image = 224, .sequence = 128},
    {.keeps_batch = false, .image = 1, .sequence = 1},
    {.keeps_batch = true, .image = 224, .sequence = 128, .fixes_values = true},
    {.keeps_batch = false, .image = 224, .sequence = 128, .fixes_values = true},
};
// The name of an extent that follows from those of other inputs: nobody gives it.
constexpr std::string_view kFollows = "?";
constexpr Guess kExample = kGuesses[1];

bool names_batch(const std::string& name) {
  std::string lower;
  for (const char c : name) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower == "n" || lower == "b" || lower.find("batch") != std::string::npos;
}

int64_t guessed_extent(const Port& port, size_t axis, const Guess& guess) {
  const std::vector<InputDim>& dims = *port.dims;
  if (names_batch(dims[axis].name) || (axis == 0 && dims.size() > 1)) return 1;
  const bool image = dims.size() == 4 && port.dtype && port.dtype->is_float();
  if (image) return axis == 1 ? 3 : guess.image;
  return guess.sequence;
}

// An axis has one extent wherever its name stands.
driver::InputShapes guessed_shapes(const std::vector<Port>& inputs, const driver::InputShapes& given,
                                   const Guess& guess) {
  std::map<std::string, int64_t> named;
  driver::InputShapes out = given;
  for (const Port& p : inputs) {
    if (!p.dims) continue;
    const auto known = given.find(p.name);
    if (known != given.end() && known->second.size() != p.dims->size()) continue;
    std::vector<InputDim> dims = *p.dims;
    bool open = false;
    for (size_t i = 0; i < dims.size(); ++i) {
      if (known != given.end() && dims[i].extent < 0) dims[i] = known->second[i];
      if (dims[i].extent >= 0) continue;
      if (dims[i].name == kFollows) continue;
      const bool first = names_batch(dims[i].name) || (i == 0 && dims.size() > 1);
      if (guess.keeps_batch && first) continue;
      const int64_t extent = guessed_extent(p, i, guess);
      dims[i].extent = dims[i].name.empty() ? extent : named.emplace(dims[i].name, extent).first->second;
      open = true;
    }
    if (open) out[p.name] = dims;
  }
  return out;
}

driver::InputValues guessed_values(const std::vector<Port>& inputs, const driver::InputValues& given) {
  driver::InputValues out = given;
  for (const Port& p : inputs) {
    const bool one = p.dims && std::all_of(p.dims->begin(), p.dims->end(),
                                           [](const InputDim& d) { return d.extent == 1; });
    if (!one || !p.dtype || p.dtype->is_float() || given.contains(p.name)) continue;
    out.emplace(p.name, frontend::data::WrittenValue{.elements = {p.dtype->is_bool() ? "true" : "1"}});
  }
  return out;
}

std::string shape_text(const std::vector<InputDim>& dims) {
  return cat("[",
             join(dims, ",",
                  [](const InputDim& d) {
                    return d.extent >= 0 ? cat(d.extent) : d.name.empty() ? std::string("?") : d.name;
                  }),
             "]");
}

bool same(const driver::InputShapes& a, const driver::InputShapes& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.first == y.first && shape_text(x.second) == shape_text(y.second);
  });
}

}  // namespace

std::optional<driver::KnownInputs> find_remedy(const std::vector<Port>& inputs,
                                               const driver::KnownInputs& given,
                                               const std::function<bool(const driver::KnownInputs&)>& lifts) {
  std::set<std::string> tried{command_with({}, given)};
  for (const Guess& guess : kGuesses) {
    driver::KnownInputs known{guessed_shapes(inputs, given.shapes, guess), given.values};
    if (guess.fixes_values) known.values = guessed_values(inputs, given.values);
    if (tried.insert(command_with({}, known)).second && lifts(known)) return known;
  }
  return std::nullopt;
}

std::optional<driver::KnownInputs> example(const std::vector<Port>& inputs,
                                           const driver::KnownInputs& given) {
  driver::KnownInputs out{guessed_shapes(inputs, given.shapes, kExample), given.values};
  return same(out.shapes, given.shapes) ? std::nullopt : std::optional(std::move(out));
}

std::string command_with(const std::vector<std::string>& arguments, const driver::KnownInputs& known) {
  std::vector<std::string> words{"relay"};
  for (size_t i = 0; i < arguments.size(); ++i) {
    bool about_inputs = false;
    for (const std::string_view option : {"--input-shapes", "--fix-input"}) {
      if (arguments[i] == option)
        ++i;  // and its value
      else if (!arguments[i].starts_with(cat(option, "=")))
        continue;
      about_inputs = true;
      break;
    }
    if (!about_inputs) words.push_back(shell_word(arguments[i]));
  }
  for (const auto& [name, dims] : known.shapes)
    words.push_back(cat("--input-shapes ", shell_word(cat(name, ":", shape_text(dims)))));
  for (const auto& [name, value] : known.values)
    words.push_back(cat("--fix-input ", shell_word(cat(name, "=", show(value)))));
  return join(words, " ");
}

std::vector<Port> ports_of(const Fn& fn, const std::vector<std::string>& names) {
  std::vector<Port> out;
  for (size_t i = 0; i < fn.params.size(); ++i) {
    const auto* tensor = fn.params[i]->type->as<TensorType>();
    Port p{.name = names[i], .dtype = {}, .dims = {}};
    if (tensor) {
      p.dtype = tensor->dtype;
      p.dims.emplace();
      for (const Dim& d : tensor->dims) {
        // The extents of an expression follow from those of its variables.
        const bool variable = d.is_symbolic() && d.symbolic()->kind == kernel::ExprKind::kVar;
        p.dims->push_back(
            {d.is_const() ? d.value() : -1, variable ? d.symbolic()->name.str() : std::string(kFollows)});
      }
    }
    out.push_back(std::move(p));
  }
  return out;
}

}  // namespace relay::tools
