#include "tests/property/approximations.h"

#include <algorithm>
#include <cmath>

#include "base/cat.h"

namespace relay::property {
namespace {

enum class Keeps : uint8_t {
  kNumbers,   // the result, more or less
  kFirst,     // the result, as the first field of the new one
  kExamples,  // of a program that takes one example, the result of each
};

struct Row {
  std::string_view pass;
  Keeps keeps;
  // Of kNumbers: the share of the largest number on the way that results may be away; 0: as far as
  // an engine may be. What comes of it where each value of a dozen layers is rounded to narrow
  // numbers, or to steps.
  double share = 0;
  // All integers up to this one are numbers of the narrowest dtype.
  double largest_integer = 0x1p24;
  bool leaves_smooth = true;
};

constexpr Row kRows[] = {
    {"change-batch", Keeps::kExamples},
    {"fast-math", Keeps::kNumbers},
    {"fold-scale-axis", Keeps::kNumbers},
    // Derivatives have steps where functions have kinks.
    {.pass = "forward-gradient", .keeps = Keeps::kFirst, .leaves_smooth = false},
    {.pass = "gradient", .keeps = Keeps::kFirst, .leaves_smooth = false},
    {"mixed-precision", Keeps::kNumbers, 0.05, 0x1p8},
    {"quantise-global", Keeps::kNumbers, 0.5, 0},
    {"simplify-floats", Keeps::kNumbers},
};

const Row* row_of(std::string_view pass) {
  const auto* found =
      std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return r.pass == pass; });
  return found == std::end(kRows) ? nullptr : found;
}

// Do numbers saturate, or are there so few that nothing is left of some? What networks are given is
// up to 0.75, and a step is a 128th of the scale.
bool loses_numbers(const passes::Step& step, double largest) {
  if (step.pass->name == "quantise-global") {
    const auto scale = static_cast<double>(step.values.at("scale"));
    return step.values.at("bits") < 8 || scale < largest || scale > 8;
  }
  return step.pass->name == "mixed-precision" && largest > 0x1p14;
}

Kept numbers(const passes::Step& step, const Row& row, const Expected& expected, const Run& got,
             double share) {
  const Run& before = expected.run();
  const double largest = std::max(before.largest, got.largest);
  if (before.exact && got.exact && largest <= row.largest_integer) return {true, difference(got, before)};
  if (!expected.is_smooth() || !std::isfinite(largest) || loses_numbers(step, largest)) return {};
  if (row.share == 0 && !before.exact) return {true, expected.difference(got, share)};
  const double allowed = std::max({row.share, share, kWinogradShare}) * largest;
  return {true, difference(got, before, [=](size_t, const Tensor& x, const Tensor& y) {
            return y.dtype().is_float() ? compare(x, y, [=](int64_t) { return allowed; })
                                        : compare_exact(x, y);
          })};
}

// Is there one example in each argument? Then each of several equal ones gives what it gives, also
// where examples are looked at together: a mean of equal numbers is that number.
bool is_one_example(const std::vector<Value>& args) {
  return std::all_of(args.begin(), args.end(), [](const Value& v) {
    return v.is_tensor() && v.tensor().rank() > 0 && v.tensor().shape()[0] == 1;
  });
}

// The results of one example, as often as there are examples in these.
Value repeated(const Value& one, const Value& these) {
  const std::vector<Tensor> like = passes::tensors_of(these);
  size_t i = 0;
  return with_tensors(one, [&](const Tensor& t) {
    const Tensor& wanted = like[i++];
    if (t.rank() == 0 || t.rank() != wanted.rank() || t.shape()[0] != 1) return t;
    Shape shape = t.shape();
    shape[0] = wanted.shape()[0];
    Tensor out(t.dtype(), shape);
    for (int64_t k = 0; k < out.size(); ++k) out.set(k, t.get(k % t.size()));
    return out;
  });
}

Kept examples(const Expected& expected, const std::vector<Value>& args, const Run& got) {
  Run before = expected.run();
  const bool values = before.kind == Run::Kind::kValue && got.kind == Run::Kind::kValue;
  if (!expected.is_smooth() || !std::isfinite(before.largest) || !is_one_example(args)) return {};
  if (values && passes::tensors_of(before.value).size() == passes::tensors_of(got.value).size())
    before.value = repeated(before.value, got.value);
  const double allowed = before.exact && got.exact ? 0 : kWinogradShare * before.largest;
  return {true, difference(got, before, [=](size_t, const Tensor& x, const Tensor& y) {
            return compare(x, y, [=](int64_t) { return y.dtype().is_float() ? allowed : 0; });
          })};
}

}  // namespace

Kept kept_by(const passes::Step& step, const Expected& before, const std::vector<Value>& args, const Run& got,
             double share) {
  const Row* row = row_of(step.pass->name);
  if (!row) return {true, cat("let tests/property/approximations.cc say what `", step.pass->name, "` keeps")};
  if (got.kind == Run::Kind::kExhausted || before.run().kind == Run::Kind::kExhausted) return {};
  switch (row->keeps) {
    case Keeps::kNumbers: return numbers(step, *row, before, got, share);
    case Keeps::kFirst: break;
    case Keeps::kExamples: return examples(before, args, got);
  }
  const auto value = step.values.find("value");
  if (value != step.values.end() && value->second == 0) return {};
  Run first = got;
  if (got.kind == Run::Kind::kValue) first.value = Value(got.value.fields()[0]);
  return {true, before.difference(first, share)};
}

bool leaves_smooth(std::string_view pass) {
  const Row* row = row_of(pass);
  return row && row->leaves_smooth;
}

double share_after(std::string_view pass) { return pass == "mixed-precision" ? row_of(pass)->share : 0; }

std::vector<std::string_view> passes_with_approximations() {
  std::vector<std::string_view> out;
  for (const Row& row : kRows) out.push_back(row.pass);
  return out;
}

}  // namespace relay::property
