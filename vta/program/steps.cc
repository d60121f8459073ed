#include "vta/program/steps.h"

#include <algorithm>

#include "base/cat.h"

namespace relay::vta {
namespace {

constexpr Range kWord{INT32_MIN, INT32_MAX};
constexpr Range kImmediates{INT16_MIN, INT16_MAX};

int64_t least(const Numbers& n) { return *std::min_element(n.begin(), n.end()); }
int64_t most(const Numbers& n) { return *std::max_element(n.begin(), n.end()); }
bool all(const Numbers& n, int64_t value) {
  return std::all_of(n.begin(), n.end(), [&](int64_t v) { return v == value; });
}
Numbers negated(Numbers n) {
  for (int64_t& v : n) v = -v;
  return n;
}

Numbers plus(Numbers a, const Numbers& b) {
  if (a.size() < b.size()) a.resize(b.size(), a.front());
  for (size_t k = 0; k < a.size(); k++) a[k] += b[b.size() == 1 ? 0 : k];
  return a;
}
bool is_immediate(const Numbers& n, const Range& range) {
  return all(n, n.front()) && range.holds({n.front(), n.front()});
}

// All products of a number of each.
Range product(const Range& a, const Range& b) {
  const auto [low, high] = std::minmax({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
  return {low, high};
}

// round(p / 2^shift), where the sum fits 64 bits.
int64_t rounded(int64_t p, int64_t shift, std::string_view rounding) {
  if (shift == 0) return p;
  const int64_t half = int64_t{1} << (shift - 1);
  if (rounding == "UPWARD") return (p + half) >> shift;
  if (rounding == "DOWNWARD") return p >> shift;
  if (rounding == "TONEAREST") return (p + half - (p < 0 ? 1 : 0)) >> shift;
  return (p + half - 1 + ((p >> shift) & 1)) >> shift;
}

// The fraction in lowest terms: nothing is rounded differently.
Rescale reduced(Rescale r) {
  for (; r.shift > 0 && r.multiplier % 2 == 0; r.shift--) r.multiplier /= 2;
  return r;
}

// The least number of the range that has the property, which all larger ones have, too.
template <class F>
int64_t first(const Range& range, F&& has) {
  int64_t low = range.low, high = range.high;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    (has(middle) ? high : low) = has(middle) ? middle : middle + 1;
  }
  return low;
}

}  // namespace

Range range_of(DType dtype) {
  const int64_t high = (int64_t{1} << (dtype.bits - 1)) - 1;
  return {-high - 1, high};
}

Steps::Steps(int64_t channels, DType dtype, const Range& range) : channels_(channels), dtype_(dtype) {
  set_range(range.low, range.high);
}

// Beyond 32 bits the sums have wrapped, as the program's numbers of 32 bits have.
void Steps::set_range(int64_t low, int64_t high) {
  range_ = {low, high};
  if (!kWord.holds(range_)) range_ = kWord;
}

void Steps::push(AluOp op, Numbers n, const Origin& origin) {
  const bool nothing = (op == AluOp::kAdd && all(n, 0)) || (op == AluOp::kMul && all(n, 1)) ||
                       (op == AluOp::kShr && all(n, 0)) || (op == AluOp::kMax && most(n) <= range_.low) ||
                       (op == AluOp::kMin && least(n) >= range_.high);
  if (nothing) return;
  if (op != AluOp::kAdd || steps_.empty() || !steps_.back().is_sum()) {
    steps_.push_back({op, std::move(n), std::nullopt, origin, range_});
    return;
  }
  Numbers& sum = steps_.back().numbers;
  sum = plus(std::move(sum), n);
  // Sums of constants wrap where the sums do.
  for (int64_t& v : sum) v = static_cast<int32_t>(static_cast<uint32_t>(v));
}

void Steps::clip(AluOp op, const Numbers& n, const Origin& origin) {
  push(op, n, origin);
  if (op == AluOp::kMax) {
    set_range(std::max(range_.low, least(n)), std::max(range_.high, most(n)));
  } else {
    set_range(std::min(range_.low, least(n)), std::min(range_.high, most(n)));
  }
}

void Steps::halve(int64_t amount, const Origin& origin) {
  if (amount == 0) return;
  const std::vector<Step> clips = take_clips(amount);
  push(AluOp::kShr, {amount}, origin);
  set_range(range_.low >> amount, range_.high >> amount);
  for (const Step& s : clips) clip(s.op, s.numbers, s.origin);
}

std::vector<Steps::Step> Steps::take_clips(int64_t amount) {
  auto first = steps_.end();
  while (first != steps_.begin() && (std::prev(first)->is_sum() || std::prev(first)->is_clip())) first--;
  first = std::find_if(first, steps_.end(), [](const Step& s) { return s.is_clip(); });
  if (first == steps_.end()) return {};
  std::vector<Step> clips;
  Numbers sum{0};
  bool wraps = false;
  for (auto s = first; s != steps_.end(); s++) {
    if (s->is_clip()) {
      clips.push_back(*s);
      continue;
    }
    wraps |= !kWord.holds({s->before.low + least(s->numbers), s->before.high + most(s->numbers)});
    sum = plus(std::move(sum), s->numbers);
    for (Step& c : clips) c.numbers = plus(std::move(c.numbers), s->numbers);
  }
  const Range before = first->before;
  if (wraps || !kWord.holds({before.low + least(sum), before.high + most(sum)})) return {};
  for (Step& c : clips) {
    for (int64_t& v : c.numbers) v >>= amount;
    if (!is_immediate(c.numbers, kImmediates)) return {};
  }
  const Origin origin = steps_.back().origin;
  steps_.erase(first, steps_.end());
  range_ = before;
  add(sum, origin);
  return clips;
}

void Steps::settle(const Origin& origin) {
  const Range dtype = range_of(dtype_);
  if (dtype.holds(range_)) return;
  push(AluOp::kShr, {dtype_.bits - 32}, origin);
  push(AluOp::kShr, {32 - dtype_.bits}, origin);
  range_ = dtype;
}

void Steps::add(const Numbers& n, const Origin& origin) {
  push(AluOp::kAdd, n, origin);
  set_range(range_.low + least(n), range_.high + most(n));
}

void Steps::multiply(const Numbers& n, const Origin& origin) {
  push(AluOp::kMul, n, origin);
  const Range out = product(range_, {least(n), most(n)});
  set_range(out.low, out.high);
}

void Steps::maximum(const Numbers& n, const Origin& origin) {
  settle(origin);
  clip(AluOp::kMax, n, origin);
}

void Steps::minimum(const Numbers& n, const Origin& origin) {
  settle(origin);
  clip(AluOp::kMin, n, origin);
}

void Steps::shift_left(const Numbers& n, const Origin& origin) {
  push(AluOp::kShr, negated(n), origin);
  const Range out = product(range_, {int64_t{1} << least(n), int64_t{1} << most(n)});
  set_range(out.low, out.high);
}

void Steps::shift_right(const Numbers& n, const Origin& origin) {
  settle(origin);
  if (all(n, n.front())) return halve(n.front(), origin);
  push(AluOp::kShr, n, origin);
  set_range(std::min(range_.low >> least(n), range_.low >> most(n)),
            std::max(range_.high >> least(n), range_.high >> most(n)));
}

void Steps::cast(DType to, const Origin& origin) {
  if (to.bits > dtype_.bits) settle(origin);
  dtype_ = to;
}

void Steps::combine(AluOp op, size_t tensor, const Origin& origin) {
  const Range operand = range_of(kInt8);
  if (op == AluOp::kMin || op == AluOp::kMax) settle(origin);
  steps_.push_back({op, {}, tensor, origin, range_});
  if (op == AluOp::kAdd) {
    set_range(range_.low + operand.low, range_.high + operand.high);
  } else if (op == AluOp::kMul) {
    const Range out = product(range_, operand);
    set_range(out.low, out.high);
  } else if (op == AluOp::kMax) {
    set_range(std::max(range_.low, operand.low), std::max(range_.high, operand.high));
  } else {
    set_range(std::min(range_.low, operand.low), std::min(range_.high, operand.high));
  }
}

std::string Steps::rescale(const Rescale& given, const Origin& origin) {
  settle(origin);
  const Rescale r = reduced(given);
  const Range result = range_of(r.result);
  // Of the numbers before the zero point is added.
  const int64_t low = result.low - r.zero, high = result.high - r.zero;
  const auto f = [&](int64_t v) { return rounded(v * r.multiplier, r.shift, r.rounding); };
  const Steps before = *this;
  if (!divide(r, origin)) {
    // Larger numbers become the largest result anyway, and smaller ones the smallest.
    const int64_t top = first(range_, [&](int64_t v) { return f(v) >= high; });
    const int64_t bottom = -first({-range_.high, -range_.low}, [&](int64_t v) { return f(-v) <= low; });
    maximum({bottom}, origin);
    minimum({top}, origin);
    if (!divide(r, origin)) {
      *this = before;
      return cat("`", origin.name, "`: ", given.multiplier, " / 2^", given.shift, " of numbers from ",
                 range_.low, " to ", range_.high, ", rounded ", r.rounding,
                 ", has no exact steps of 32 bits");
    }
  }
  dtype_ = kInt32;
  maximum({low}, origin);
  minimum({high}, origin);
  add({r.zero}, origin);
  dtype_ = r.result;
  return {};
}

bool Steps::divide(const Rescale& r, const Origin& origin) {
  const Range p = product(range_, {r.multiplier, r.multiplier});
  if (!kWord.holds(p)) return false;
  const int64_t shift = r.shift, half = shift == 0 ? 0 : int64_t{1} << (shift - 1);
  const auto times = [&](int64_t multiplier) {
    const int64_t power = multiplier & -multiplier;
    if (power == multiplier) {
      push(AluOp::kShr, {-(__builtin_ctzll(static_cast<uint64_t>(power)))}, origin);
    } else {
      push(AluOp::kMul, {multiplier}, origin);
    }
    const Range products = product(range_, {multiplier, multiplier});
    set_range(products.low, products.high);
  };
  if (shift == 0 || r.rounding == "DOWNWARD") {
    times(r.multiplier);
    halve(std::min<int64_t>(shift, 31), origin);  // 31 bits leave the sign
  } else if (r.rounding == "UPWARD" && shift > 31) {
    push(AluOp::kMul, {0}, origin);  // nothing reaches half of 2^32
  } else if (r.rounding == "UPWARD" && half <= INT16_MAX && p.high + half <= INT32_MAX) {
    times(r.multiplier);
    add({half}, origin);
    halve(shift, origin);
  } else if (r.rounding == "UPWARD" && shift > 1) {
    // floor((p + half) / 2^shift) = floor((floor(p / half) + 1) / 2)
    times(r.multiplier);
    halve(shift - 1, origin);
    add({1}, origin);
    halve(1, origin);
  } else if (r.rounding == "TONEAREST") {
    // p (1 + 1 / 2^more) is beyond p, away from zero, and no further than to the next integer. So
    // halves of negative numbers go down, halves of others up, and nothing else changes.
    const int64_t largest = std::max(-p.low, p.high);
    int64_t more = 0;
    while (int64_t{1} << more <= largest) more++;
    const int64_t unit = int64_t{1} << more;
    if (more + shift > 31 || largest * (unit + 1) + half * unit > INT32_MAX) return false;
    times(r.multiplier * (unit + 1));
    add({half * unit}, origin);
    halve(shift + more, origin);
  } else {
    return false;
  }
  set_range(rounded(p.low, shift, r.rounding), rounded(p.high, shift, r.rounding));
  return true;
}

Steps::Made Steps::made() const {
  Made out;
  for (const Step& s : steps_) {
    const bool shift = s.op == AluOp::kShr;
    const Range immediates = shift ? Range{-31, 31} : kImmediates;
    LayerStep step{.op = s.op, .origin = s.origin};
    std::vector<int32_t> channels;
    if (s.tensor) {
      step.operand = OperandKind::kTensor;
    } else if (is_immediate(s.numbers, immediates)) {
      step.immediate = s.numbers.front();
    } else {
      step.operand = OperandKind::kChannel;
      for (int64_t c = 0; c < channels_; c++)
        channels.push_back(
            static_cast<int32_t>(s.numbers[s.numbers.size() == 1 ? 0 : static_cast<size_t>(c)]));
    }
    out.steps.push_back(std::move(step));
    out.channels.push_back(std::move(channels));
    out.tensors.push_back(s.tensor);
  }
  return out;
}

}  // namespace relay::vta
