#include "op/tensor/block_layout.h"

#include <algorithm>
#include <cctype>

#include "base/cat.h"
#include "op/relation.h"

namespace relay::op {
namespace {

constexpr int64_t kLargestBlock = 4096;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

BlockLayout BlockLayout::read(std::string_view attribute, std::string_view text, std::string_view axes) {
  const auto blame = [&](std::string_view why) {
    throw RelationError{kAttributes, cat(attribute, " must have each of the letters ", axes,
                                         " once, and blocks like 16c behind them, not `", text, "`: ", why)};
  };
  BlockLayout out;
  out.axes_ = axes.size();
  std::vector<bool> seen(axes.size(), false);
  for (size_t i = 0; i < text.size(); ++i) {
    int64_t size = 0;
    const bool is_block = is_digit(text[i]);
    for (; i < text.size() && is_digit(text[i]) && size <= kLargestBlock; ++i)
      size = 10 * size + (text[i] - '0');
    if (is_block && (size < 1 || size > kLargestBlock))
      blame(cat("blocks have 1 to ", kLargestBlock, " elements"));
    if (i == text.size()) blame("a number is followed by the letter of an axis");
    const char letter = text[i];
    const size_t axis = axes.find(static_cast<char>(std::toupper(static_cast<unsigned char>(letter))));
    const bool is_lower = letter >= 'a' && letter <= 'z';
    if (axis == std::string_view::npos || is_lower != is_block) blame(cat("there is no axis `", letter, "`"));
    if (!is_block && seen[axis]) blame(cat("`", letter, "` is there twice"));
    if (is_block && !seen[axis]) blame(cat("the blocks `", letter, "` stand before their axis"));
    seen[axis] = true;
    out.parts_.push_back({axis, size});
    if (out.block(axis) > kLargestBlock) blame(cat("blocks have 1 to ", kLargestBlock, " elements"));
  }
  if (std::find(seen.begin(), seen.end(), false) != seen.end()) blame("an axis is missing");
  return out;
}

int64_t BlockLayout::block(size_t axis) const {
  int64_t n = 1;
  for (const Part& p : parts_) n *= p.axis == axis && p.size != 0 ? p.size : 1;
  return n;
}

size_t BlockLayout::place(size_t axis) const {
  size_t p = 0;
  while (parts_[p].axis != axis || parts_[p].size != 0) ++p;
  return p;
}

int64_t BlockLayout::inner(size_t part) const {
  int64_t n = 1;
  for (size_t p = part + 1; p < parts_.size(); ++p)
    n *= parts_[p].axis == parts_[part].axis ? parts_[p].size : 1;
  return n;
}

std::vector<Dim> BlockLayout::shape(std::span<const Dim> axes) const {
  std::vector<Dim> out;
  for (const Part& p : parts_) {
    out.push_back(p.size != 0          ? Dim(p.size)
                  : block(p.axis) == 1 ? axes[p.axis]
                                       : ceil_div(axes[p.axis], block(p.axis)));
  }
  return out;
}

std::vector<Dim> BlockLayout::axes(std::span<const Dim> shape) const {
  std::vector<Dim> out(axes_, Dim(1));
  for (size_t p = 0; p < parts_.size(); ++p) out[parts_[p].axis] = out[parts_[p].axis] * shape[p];
  return out;
}

std::string BlockLayout::misfit(std::span<const Dim> shape) const {
  if (shape.size() != rank()) return cat("expected a tensor of rank ", rank(), ", found rank ", shape.size());
  for (size_t p = 0; p < parts_.size(); ++p) {
    if (parts_[p].size != 0 && shape[p].is_const() && shape[p].value() != parts_[p].size) {
      return cat("dimension ", p, " holds blocks of ", parts_[p].size, " elements, found ",
                 relay::show(shape[p]));
    }
  }
  return {};
}

}  // namespace relay::op
