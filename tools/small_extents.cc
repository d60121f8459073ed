#include "tools/small_extents.h"

namespace relay::tools {
namespace {

// One extent for all variables is looked for first: most models take one.
constexpr int64_t kAlike[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512};
constexpr int64_t kEach[] = {1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 224, 256, 384};
// Of variables that differ, such as n and n + 1.
constexpr int64_t kMostMixed = 4;

class Search {
 public:
  Search(size_t tries, const std::function<Fit(const std::vector<int64_t>&)>& fit)
      : tries_(tries), fit_(fit) {}

  bool fits(const std::vector<int64_t>& extents) {
    if (tries_ == 0) return false;
    --tries_;
    const Fit found = fit_(extents);
    if (found == Fit::kEmptyResult && !empty_) empty_ = extents;
    return found == Fit::kGood;
  }
  bool may_try() const { return tries_ > 0; }
  const std::optional<std::vector<int64_t>>& with_empty_result() const { return empty_; }

 private:
  size_t tries_;
  const std::function<Fit(const std::vector<int64_t>&)>& fit_;
  std::optional<std::vector<int64_t>> empty_;
};

// Each extent as small as the others allow.
std::vector<int64_t> shrunk(std::vector<int64_t> extents, Search& search) {
  for (int64_t& extent : extents) {
    const int64_t most = extent;
    for (const int64_t smaller : kEach) {
      extent = most;
      if (smaller >= most || !search.may_try()) break;
      extent = smaller;
      if (search.fits(extents)) break;
      extent = most;
    }
  }
  return extents;
}

// The next of all extents from 1 to kMostMixed, the first one fastest; false after the last.
bool advance(std::vector<int64_t>& extents) {
  for (int64_t& extent : extents) {
    if (++extent <= kMostMixed) return true;
    extent = 1;
  }
  return false;
}

}  // namespace

std::optional<std::vector<int64_t>> small_extents(
    size_t count, size_t tries, const std::function<Fit(const std::vector<int64_t>&)>& fit) {
  Search search(tries, fit);
  for (const int64_t alike : kAlike) {
    std::vector<int64_t> extents(count, alike);
    if (search.fits(extents)) return shrunk(std::move(extents), search);
    if (count == 0) break;
  }
  std::vector<int64_t> mixed(count, 1);
  while (search.may_try() && advance(mixed)) {
    if (search.fits(mixed)) return mixed;
  }
  return search.with_empty_result();
}

}  // namespace relay::tools
