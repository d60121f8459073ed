#include "tests/property/shrink.h"

#include <algorithm>

namespace relay::property {
namespace {

class Shrinker {
 public:
  Shrinker(Bytes bytes, const std::function<bool(const Bytes&)>& fails, size_t most)
      : best_(std::move(bytes)), fails_(fails), left_(most) {}

  Bytes run() {
    for (bool smaller = true; smaller && left_ > 0;) {
      smaller = cut_end();
      smaller |= spans([](Bytes& b, size_t at, size_t n) {
        b.erase(b.begin() + static_cast<ptrdiff_t>(at), b.begin() + static_cast<ptrdiff_t>(at + n));
      });
      smaller |= spans([](Bytes& b, size_t at, size_t n) {
        std::fill_n(b.begin() + static_cast<ptrdiff_t>(at), n, uint8_t{0});
      });
      smaller |= lower_bytes();
    }
    return best_;
  }

 private:
  // Smaller is shorter, then lower from the front: so it ends.
  static bool less(const Bytes& a, const Bytes& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  }

  bool accept(Bytes candidate) {
    if (left_ == 0 || !less(candidate, best_)) return false;
    --left_;
    if (!fails_(candidate)) return false;
    best_ = std::move(candidate);
    return true;
  }

  // Bytes that are never reached go first, by bisection.
  bool cut_end() {
    bool any = false;
    for (size_t n = best_.size(); n > 0; n /= 2) {
      while (n <= best_.size() && accept({best_.begin(), best_.end() - static_cast<ptrdiff_t>(n)}))
        any = true;
    }
    return any;
  }

  template <class Change>
  bool spans(const Change& change) {
    bool any = false;
    for (size_t n = std::max<size_t>(best_.size() / 2, 1); n > 0; n /= 2) {
      for (size_t at = 0; at + n <= best_.size();) {
        Bytes candidate = best_;
        change(candidate, at, n);
        const size_t before = best_.size();
        if (accept(std::move(candidate))) {
          any = true;
          if (best_.size() < before) continue;  // what follows has moved here
        }
        at += n;
      }
    }
    return any;
  }

  bool lower_bytes() {
    bool any = false;
    for (size_t i = 0; i < best_.size(); ++i) {
      for (uint8_t cut = best_[i]; cut > 0; cut /= 2) {
        Bytes candidate = best_;
        candidate[i] = static_cast<uint8_t>(candidate[i] - cut);
        any |= accept(std::move(candidate));
        cut = std::min(cut, best_[i]);
      }
    }
    return any;
  }

  Bytes best_;
  const std::function<bool(const Bytes&)>& fails_;
  size_t left_;
};

}  // namespace

Bytes shrink(Bytes bytes, const std::function<bool(const Bytes&)>& fails, size_t most) {
  return Shrinker(std::move(bytes), fails, most).run();
}

}  // namespace relay::property
