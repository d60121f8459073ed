#include "kernel/layout.h"

#include <algorithm>

#include "base/cat.h"
#include "base/check.h"

namespace relay::kernel {
namespace {

constexpr int64_t kLargestBlock = 1 << 16;  // in a text, so that extents and offsets stay far from 64 bits

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
char upper(char c) { return is_lower(c) ? static_cast<char>(c - 'a' + 'A') : c; }
char lower(char c) { return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c; }

// The product of the sizes of all blocks of the axis from the part on.
int64_t elements_of_blocks(const std::vector<Layout::Part>& parts, size_t axis, size_t from) {
  int64_t n = 1;
  for (size_t d = from; d < parts.size(); ++d) {
    if (parts[d].axis != axis || !parts[d].is_block()) continue;
    CHECK(!__builtin_mul_overflow(n, parts[d].size, &n), "blocks of an axis that are too large together");
  }
  return n;
}

}  // namespace

Layout::Layout(size_t axes, std::vector<Part> parts) : axes_(axes), parts_(std::move(parts)) {
  std::vector<size_t> times(axes, 0);
  for (size_t d = 0; d < parts_.size(); ++d) {
    Part& p = parts_[d];
    CHECK(p.axis < axes && p.size >= 0, "a part of an axis that the layout does not have");
    if (!p.is_block()) ++times[p.axis];
    p.step = elements_of_blocks(parts_, p.axis, p.is_block() ? d + 1 : 0);
  }
  for (const size_t n : times) CHECK(n == 1, "each axis is there once, besides its blocks");
}

Layout Layout::plain(std::string_view axes) {
  std::string why;
  const std::optional<Layout> out = parse(axes, axes, why);
  CHECK(out.has_value(), why);
  return *out;
}

std::optional<Layout> Layout::parse(std::string_view text, std::string_view axes, std::string& why) {
  const auto wrong = [&](std::string reason) {
    why = std::move(reason);
    return std::nullopt;
  };
  std::vector<Part> parts;
  std::vector<int64_t> block(axes.size(), 1);
  std::vector<bool> seen(axes.size(), false);
  for (size_t i = 0; i < text.size(); ++i) {
    int64_t size = 0;
    const bool is_block = is_digit(text[i]);
    for (; i < text.size() && is_digit(text[i]) && size <= kLargestBlock; ++i)
      size = 10 * size + (text[i] - '0');
    if (is_block && (size < 1 || size > kLargestBlock))
      return wrong(cat("blocks have 1 to ", kLargestBlock, " elements"));
    if (i == text.size()) return wrong("a number is followed by the letter of an axis");
    const char letter = text[i];
    const size_t axis = axes.find(upper(letter));
    if (axis == std::string_view::npos || !(is_block ? is_lower(letter) : is_upper(letter)))
      return wrong(cat("there is no axis `", letter, "`"));
    if (!is_block && seen[axis]) return wrong(cat("`", letter, "` is there twice"));
    if (is_block && !seen[axis]) return wrong(cat("the blocks `", letter, "` stand before their axis"));
    seen[axis] = true;
    if (is_block) block[axis] *= size;
    if (block[axis] > kLargestBlock) return wrong(cat("blocks have 1 to ", kLargestBlock, " elements"));
    parts.push_back({axis, size});
  }
  if (std::find(seen.begin(), seen.end(), false) != seen.end()) return wrong("an axis is missing");
  Layout out(axes.size(), std::move(parts));
  out.letters_ = axes;
  return out;
}

Layout Layout::cut(size_t axis, int64_t size) const {
  CHECK(size >= 1, "a block has an element");
  std::vector<Part> parts = parts_;
  parts.push_back({axis, size});
  Layout out(axes_, std::move(parts));
  out.letters_ = letters_;
  return out;
}

std::string Layout::text() const {
  CHECK(letters_.size() == axes_, "a layout of axes without letters has no text");
  std::string out;
  for (const Part& p : parts_) {
    const char letter = letters_[p.axis];
    out += p.is_block() ? cat(p.size, lower(letter)) : std::string(1, letter);
  }
  return out;
}

int64_t Layout::block(size_t axis) const { return parts_[place(axis)].step; }

size_t Layout::place(size_t axis) const {
  CHECK(axis < axes_, "an axis that the layout does not have");
  size_t d = 0;
  while (parts_[d].axis != axis || parts_[d].is_block()) ++d;
  return d;
}

size_t Layout::block_place(size_t axis) const {
  size_t d = parts_.size();
  while (d > 0 && (parts_[d - 1].axis != axis || !parts_[d - 1].is_block())) --d;
  CHECK(d > 0, "an axis that is not cut into blocks");
  return d - 1;
}

Layout panel_layout(int64_t columns) { return Layout::plain("NC").cut(kPanelColumns, columns); }

}  // namespace relay::kernel
