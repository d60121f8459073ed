#include "base/nearest.h"

#include <algorithm>

#include "base/cat.h"
#include "base/check.h"

namespace relay {

size_t edit_distance(std::string_view a, std::string_view b) {
  CHECK(a.size() <= kLongestNearName && b.size() <= kLongestNearName);
  size_t d[kLongestNearName + 1][kLongestNearName + 1];
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      d[i][j] =
          std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

std::string nearest(std::string_view name, std::span<const std::string> candidates) {
  constexpr size_t kMostCandidates = 2000;
  std::string best;
  if (name.size() > kLongestNearName) return best;
  // The last ones: of variables those are the innermost.
  candidates = candidates.last(std::min(candidates.size(), kMostCandidates));
  size_t least = std::max<size_t>(1, name.size() / 3) + 1;
  for (const std::string& c : candidates) {
    const size_t difference = c.size() > name.size() ? c.size() - name.size() : name.size() - c.size();
    if (c.size() > kLongestNearName || difference >= least) continue;
    if (const size_t d = edit_distance(name, c); d < least) {
      least = d;
      best = c;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view name, std::span<const std::string> candidates,
                         std::string_view prefix) {
  const std::string near = nearest(name, candidates);
  return near.empty() ? near : cat("did you mean `", prefix, near, "`?");
}

void suggest(Diagnostic& d, std::string_view name, std::span<const std::string> candidates,
             std::string_view prefix) {
  if (std::string near = did_you_mean(name, candidates, prefix); !near.empty()) d.note(std::move(near));
}

std::string choices(std::string_view name, std::span<const std::string> candidates) {
  const std::string near = did_you_mean(name, candidates);
  return cat(near.empty() ? "there are: " : cat(near, " There are: "),
             candidates.empty() ? "none" : join(candidates, ", "));
}

std::string no_such(std::string_view what, std::string_view name, std::span<const std::string> candidates) {
  return cat("there is no ", what, " `", name, "`; ", choices(name, candidates));
}

}  // namespace relay
