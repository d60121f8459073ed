// TfIdfVectorizer: how often sequences of integers hold each of a list of n-grams.
#include <algorithm>
#include <map>
#include <set>

#include "base/cat.h"
#include "frontend/onnx/node.h"

namespace relay::frontend {
namespace {

using namespace op;

// Each item of each length is compared once for each gap that skips allow.
constexpr int64_t kMostComparisons = 1 << 12;

// The n-grams of one length, and the element of the result that counts each.
struct Grams {
  int64_t length = 0;
  std::vector<std::vector<int64_t>> items;
  std::vector<int64_t> places;
};

struct Vectoriser {
  std::vector<Grams> grams;  // of the lengths that are counted
  int64_t size = 0;          // of the result
  int64_t shortest = 0, longest = 0, skips = 0;
  std::vector<double> weights;  // of the elements of the result; empty: all are 1

  // How many gaps between items count. A single item has none, so it counts once.
  int64_t gaps(const Grams& g) const { return g.length == 1 ? 1 : skips + 1; }
};

// ONNX says that weights belong to n-grams; runtimes give them to elements of the result. Where
// that is not the same, nobody knows what the model means.
std::vector<double> weights_of(Node& n, const std::vector<int64_t>& places, int64_t size) {
  const auto* a = n.attribute("weights");
  if (!a || a->floats_size() == 0) return {};
  const std::vector<double> given(a->floats().begin(), a->floats().end());
  n.require(given.size() == places.size(), "its attribute `weights` has another length than `ngram_indexes`");
  std::vector<double> out(static_cast<size_t>(size), 0);
  for (size_t i = 0; i < places.size(); ++i) {
    const auto place = static_cast<size_t>(places[i]);
    if (place >= given.size() || given[place] != given[i])
      n.unsupported("its weights are in another order than the elements of its result",
                    "sort its n-grams by ngram_indexes");
    out[place] = given[i];
  }
  return out;
}

Vectoriser read(Node& n) {
  if (n.attribute("pool_strings"))
    n.unsupported("n-grams of strings are not supported",
                  "look up the number of each word outside of the model");
  Vectoriser v;
  const auto range = [&](const char* name, int64_t least) {
    const int64_t value = n.integer(name);
    n.require(value >= least && value <= 64, cat("its attribute `", name, "` is out of range"));
    return value;
  };
  v.shortest = range("min_gram_length", 1), v.longest = range("max_gram_length", 1);
  v.skips = range("max_skip_count", 0);
  n.require(v.shortest <= v.longest, "min_gram_length is above max_gram_length");
  const std::vector<int64_t> starts = n.integers("ngram_counts"), pool = n.integers("pool_int64s"),
                             places = n.integers("ngram_indexes");
  n.require(!pool.empty() && !starts.empty(), "its list of n-grams is empty");
  for (const int64_t place : places) {
    n.require(place >= 0 && place < (1 << 24), "its attribute `ngram_indexes` is out of range");
    v.size = std::max(v.size, place + 1);
  }
  size_t next = 0;  // n-gram
  std::set<std::vector<int64_t>> known;
  for (size_t i = 0; i < starts.size(); ++i) {
    const auto length = static_cast<int64_t>(i) + 1, total = static_cast<int64_t>(pool.size());
    const int64_t begin = starts[i], end = i + 1 < starts.size() ? starts[i + 1] : total;
    n.require(begin >= 0 && begin <= end && end <= total && (end - begin) % length == 0,
              "its attribute `ngram_counts` does not divide its n-grams");
    Grams g{length, {}, {}};
    for (int64_t at = begin; at < end; at += length, ++next) {
      n.require(next < places.size(), "its attribute `ngram_indexes` is too short");
      g.items.emplace_back(pool.begin() + at, pool.begin() + at + length);
      g.places.push_back(places[next]);
      n.require(known.insert(g.items.back()).second, "its list has one n-gram twice");
    }
    if (length >= v.shortest && length <= v.longest && !g.items.empty()) v.grams.push_back(std::move(g));
  }
  n.require(next == places.size(), "its attribute `ngram_indexes` is too long");
  int64_t comparisons = 0;
  for (const Grams& g : v.grams) comparisons += g.length * v.gaps(g);
  if (comparisons > kMostComparisons)
    n.unsupported(cat("n-grams of so many lengths with ", v.skips, " skips are not supported"),
                  "lower max_gram_length or max_skip_count");
  v.weights = weights_of(n, places, v.size);
  return v;
}

// How often each n-gram is in each row when its items are `step` apart: (rows, n-grams)
Expr counts(Node& n, Expr x, const Grams& g, int64_t step) {
  Expr all = nullptr;
  const int64_t reach = step * (g.length - 1);
  for (int64_t i = 0; i < g.length; ++i) {
    std::vector<int64_t> wanted;
    for (const std::vector<int64_t>& item : g.items) wanted.push_back(item[static_cast<size_t>(i)]);
    const int64_t behind = reach - step * i;  // elements that are no item i
    const Expr items = n.slice(x, 1, step * i, behind == 0 ? INT64_MAX : -behind);
    const Expr same = n.call(kEqual, {n.expand_dims(items, 1), n.expand_dims(n.ints(wanted), 1)});
    all = all ? n.call(kLogicalAnd, {all, same}) : same;
  }
  return n.call(kSum, {n.cast(all, kFloat32)}, {{"axis", std::vector<int64_t>{2}}});
}

Results vectorise(Node& n) {
  const std::string mode = n.text("mode", "");
  n.require(mode == "TF" || mode == "IDF" || mode == "TFIDF",
            "its attribute `mode` must be TF, IDF or TFIDF");
  const Vectoriser v = read(n);
  Expr x = n.input(0);
  const size_t rank = type_of(x).rank();
  n.require(rank <= 2 && type_of(x).dtype.is_int(), "its input must be one or two dimensions of integers");
  const bool single = rank < 2;
  if (single) x = n.expand_dims(x, 0, 2 - static_cast<int64_t>(rank));
  x = n.cast(x, kInt64);
  const Dim rows = type_of(x).dims[0];
  if (rows.is_unknown()) n.unsupported("the number of its sequences depends on the data");

  std::vector<Expr> all;  // (rows, n-grams)
  std::vector<int64_t> places;
  for (const Grams& g : v.grams) {
    for (int64_t step = 1; step <= v.gaps(g); ++step) {
      all.push_back(counts(n, x, g, step));
      places.insert(places.end(), g.places.begin(), g.places.end());
    }
  }
  const std::vector<Dim> turned{Dim(v.size), rows};
  Expr y = n.call(kZeros, std::span<const Expr>(), {{"shape", turned}, {"dtype", kFloat32}});
  if (!all.empty()) {
    const Expr updates = n.transpose(n.concatenate(all, 1), {1, 0});
    y = n.call(kScatterNd, {y, n.expand_dims(n.ints(places), 0), updates}, {{"mode", "add"}});
  }
  y = n.transpose(y, {1, 0});
  if (mode == "IDF") y = n.call(kMinimum, {y, n.scalar(kFloat32, 1)});
  if (mode != "TF" && !v.weights.empty()) {
    Tensor weights(kFloat32, {v.size});
    for (int64_t i = 0; i < v.size; ++i) weights.set(i, v.weights[static_cast<size_t>(i)]);
    y = n.call(kMultiply, {y, n.builder().constant(std::move(weights))});
  }
  return {single ? n.squeeze(y, {0}) : y};
}

constexpr Row kRows[] = {
    {"TfIdfVectorizer", 9, vectorise, "strings, weights in another order than the results"},
};

}  // namespace

std::span<const Row> ngram_rows() { return kRows; }

}  // namespace relay::frontend
