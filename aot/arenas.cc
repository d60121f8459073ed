#include "aot/arenas.h"

#include <algorithm>
#include <set>

#include "analysis/kernel_extents.h"
#include "aot/extents.h"
#include "base/cat.h"
#include "base/check.h"

namespace relay::aot {
namespace {

// As support/values.cc has them, which asserts it.
constexpr uint64_t kCellBytes = 32, kAlignment = passes::kLocationAlignment;

// With its head, which says its extents; nothing if they are not constant, or if no
// memory holds it.
std::optional<uint64_t> bytes_of(const Written& p) {
  constexpr uint64_t kMost = uint64_t{1} << 40;
  uint64_t bytes = p.element_bytes;
  for (kernel::Expr e : p.extents) {
    if (e->kind != kernel::ExprKind::kInt || e->int_value < 0) return std::nullopt;
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(e->int_value), &bytes)) return std::nullopt;
  }
  if (bytes > kMost) return std::nullopt;
  const uint64_t head = kCellBytes + sizeof(int64_t) * p.extents.size();
  return (head + kAlignment - 1) / kAlignment * kAlignment + bytes;
}

bool is_constant(const Written& p) {
  return std::all_of(p.extents.begin(), p.extents.end(),
                     [](kernel::Expr e) { return e->kind == kernel::ExprKind::kInt; });
}

bool is_same_size(const Written& a, const Written& b) {
  const auto count = [](const Written& p) {
    return product(std::vector<Dim>(p.extents.begin(), p.extents.end()));
  };
  return a.element_bytes == b.element_bytes && a.extents.size() == b.extents.size() &&
         prove_equal(count(a), count(b)) == kernel::Proof::kProved;
}

}  // namespace

std::vector<Written> written_by(Context& context, const Call& call, const kernel::Kernel& k,
                                const std::function<bool(kernel::Expr)>& is_known) {
  std::vector<Type> types;
  for (Expr arg : call.args) types.push_back(arg->type);
  // Extents that are read, and those that the run compares, are not known before the call.
  std::optional<analysis::GivenExtents> given;
  if (k.read_extents.empty()) given = analysis::given_extents(context, types, k);
  std::vector<Written> out;
  const auto add = [&](const kernel::Buffer& b) {
    Written p{{}, b.dtype.bytes(), given.has_value()};
    for (kernel::Expr e : kernel::memory_shape(b)) {
      if (given) p.extents.push_back(kernel::substitute(e, *given));
    }
    p.can_be_placed &= std::all_of(p.extents.begin(), p.extents.end(),
                                   [&](kernel::Expr e) { return is_printable(e, is_known); }) &&
                       (!is_constant(p) || bytes_of(p));
    out.push_back(std::move(p));
  };
  if (k.outputs.size() == 1) add(*k.outputs[0]);
  for (const kernel::Buffer* b : k.temporaries) add(*b);
  return out;
}

void Arenas::end_block() {
  blocks_.pop_back();
  if (open_.size() > blocks_.size()) open_.resize(blocks_.size());
}

void Arenas::next_way() {
  Fork& f = forks_.back();
  f.has_calls |= stretch_ != f.stretch;
  stretch_ = f.stretch;
}

void Arenas::end_fork() {
  next_way();
  if (forks_.back().has_calls) stretch_ = ++newest_;
  forks_.pop_back();
}

void Arenas::show(const std::string& view, const std::string& value) {
  use(value);
  if (const auto it = item_of_.find(value); it != item_of_.end()) item_of_[view] = it->second;
}

void Arenas::use(const std::string& value) {
  const auto it = item_of_.find(value);
  if (it == item_of_.end()) return;
  Item& item = items_[it->second];
  item.life.last = step_;
  item.escapes |= item.stretch != stretch_;
}

void Arenas::keep(const std::string& value) {
  if (const auto it = item_of_.find(value); it != item_of_.end()) items_[it->second].escapes = true;
}

void Arenas::give(const std::string& value, size_t output) {
  const auto it = item_of_.find(value);
  // Of the last block alone: what is made before may be another output in another way.
  if (it == item_of_.end() || items_[it->second].block != blocks_.back()) return;
  Item& item = items_[it->second];
  if (!item.output) item.output = output;
}

bool Arenas::is_borrowed(const std::string& value) const {
  const auto it = item_of_.find(value);
  return it != item_of_.end() && items_[it->second].arena;
}

Arenas::Placed Arenas::call_kernel(const std::string& value, const std::vector<std::string>& read,
                                   const std::function<std::vector<Written>()>& written) {
  ++step_;
  for (const std::string& x : read) use(x);
  Placed out;
  if (!is_planned_) {
    for (Written& w : written()) items_.push_back({std::move(w), {step_, step_}, blocks_.back(), stretch_});
    ends_.push_back(items_.size());
  }
  const size_t first = next_item_;
  while (next_item_ < ends_.at(step_ - 1)) {
    const size_t number = next_item_++;
    Item& item = items_[number];
    CHECK(item.block == blocks_.back() && item.stretch == stretch_, "a function is printed twice alike");
    const bool is_value = number == first && !value.empty();
    if (is_value) item_of_[value] = number;
    out.places.push_back(item.place);
    if (!item.arena) continue;
    out.is_borrowed |= is_value;
    Arena& arena = arenas_[*item.arena];
    if (!std::exchange(arena.is_declared, true)) {
      out.lines.insert(out.lines.end(), arena.lines.begin(), arena.lines.end());
      open_.resize(blocks_.size());
      open_.back().push_back(*item.arena);
    }
  }
  return out;
}

std::vector<std::string> Arenas::call_function() {
  std::vector<std::string> out;
  for (const std::vector<size_t>& block : open_) {
    for (size_t a : block) {
      if (arenas_[a].stretch == stretch_) out.push_back(cat("arena_", a, ".end();"));
    }
  }
  stretch_ = ++newest_;
  return out;
}

void Arenas::plan(bool has_arenas, const std::function<std::string(kernel::Expr)>& print) {
  std::map<std::pair<size_t, size_t>, std::vector<size_t>> groups;
  for (size_t i = 0; i < items_.size(); ++i) {
    Item& item = items_[i];
    if (item.output) item.place = cat("output(run, ", *item.output, ")");
    if (has_arenas && item.written.can_be_placed && !item.escapes)
      groups[{item.block, item.stretch}].push_back(i);
  }
  for (const auto& [where, items] : groups) lay_out(items, print);
  is_planned_ = true;
  blocks_ = {0};
  open_ = {{}};
  stretch_ = newest_ = step_ = next_item_ = 0;
}

// What has a constant size first, then the slots of what has not.
void Arenas::lay_out(const std::vector<size_t>& items,
                     const std::function<std::string(kernel::Expr)>& print) {
  std::vector<size_t> constant, others;
  std::vector<passes::Life> lives, other_lives;
  std::vector<uint64_t> bytes;
  for (size_t i : items) {
    const bool is_static = is_constant(items_[i].written);
    (is_static ? constant : others).push_back(i);
    (is_static ? lives : other_lives).push_back(items_[i].life);
    if (is_static) bytes.push_back(*bytes_of(items_[i].written));
  }
  const std::string name = cat("arena_", arenas_.size());
  const passes::Locations locations = passes::find_locations(lives, bytes);
  const auto put = [&](size_t item, const std::string& offset) {
    items_[item].arena = arenas_.size();
    items_[item].place = cat(name, ".at(", offset, ")");
  };
  for (size_t i = 0; i < constant.size(); ++i) put(constant[i], cat(locations.offsets[i]));

  const std::vector<size_t> slots = passes::find_slots(other_lives, [&](size_t a, size_t b) {
    return is_same_size(items_[others[a]].written, items_[others[b]].written);
  });
  Arena arena{items_[items[0]].stretch, {}};
  std::string end = cat(locations.bytes);
  const size_t count = slots.empty() ? 0 : 1 + *std::max_element(slots.begin(), slots.end());
  for (size_t s = 0; s < count; ++s) {
    const std::string begin = std::exchange(end, cat("end_", slots_++));
    arena.lines.push_back(cat("size_t ", end, " = ", begin, ";"));
    std::set<std::string> sizes;
    for (size_t i = 0; i < others.size(); ++i) {
      if (slots[i] != s) continue;
      const Written& p = items_[others[i]].written;
      const std::string extents = join(p.extents, "", [&](kernel::Expr e) { return ", " + print(e); });
      if (const std::string size = cat(p.element_bytes, extents); sizes.insert(size).second)
        arena.lines.push_back(cat("if (!grow(run, ", begin, ", ", end, ", ", size, ")) return {};"));
      put(others[i], begin);
    }
  }
  arena.lines.push_back(cat("Arena ", name, "(run, ", end, ");"));
  arena.lines.push_back(cat("if (!", name, ") return {};"));
  arenas_.push_back(std::move(arena));
}

}  // namespace relay::aot
