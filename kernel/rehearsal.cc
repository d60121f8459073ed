#include "kernel/rehearsal.h"

#include <algorithm>
#include <optional>

#include "base/cat.h"
#include "kernel/execute.h"
#include "kernel/simplify.h"
#include "kernel/statements.h"

namespace relay::kernel {
namespace {

constexpr std::string_view kShared = "as other iterations of an independent loop do";

// How often stores are executed, at most; nothing if that depends on a shape or is too much.
std::optional<int64_t> steps_of(Stmt s, Bounds bounds) {
  int64_t total = s->as<Store>() ? 1 : 0;
  if (const auto* f = s->as<For>()) {
    const Interval times = bounds.of(f->extent);
    if (!times.high) return std::nullopt;
    bounds.bind(f->var, f->extent);
    total = std::max<int64_t>(*times.high, 0);
    const std::optional<int64_t> body = steps_of(f->body, bounds);
    if (!body || __builtin_mul_overflow(total, *body, &total) || total > kMostRehearsed) return std::nullopt;
    return total;
  }
  for (Stmt c : children(s)) {
    const std::optional<int64_t> below = steps_of(c, bounds);
    if (!below || __builtin_add_overflow(total, *below, &total) || total > kMostRehearsed)
      return std::nullopt;
  }
  return total;
}

}  // namespace

void Rehearsal::enter_iteration(int64_t activation, int64_t iteration) {
  strands_.push_back({strand_, activation, iteration, strand_ < 0 ? 0 : strands_[index(strand_)].depth + 1});
  strand_ = static_cast<int32_t>(strands_.size()) - 1;
}

std::string_view Rehearsal::read(ElementHistory& e, const BlockState& by) const {
  if (by.number != e.writer) {
    e.pending = false;
    e.taken |= !by.goes_on;
  }
  if (conflict(e.write_strand, strand_)) return kShared;
  if (!conflict(e.read_strand, strand_)) {
    e.read_strand = strand_;
  } else if (!conflict(e.other_read_strand, strand_)) {
    e.other_read_strand = strand_;
  }
  return {};
}

std::string_view Rehearsal::write(ElementHistory& e, const BlockState& by) {
  if (conflict(e.write_strand, strand_) || conflict(e.read_strand, strand_) ||
      conflict(e.other_read_strand, strand_))
    return kShared;
  const bool step = by.goes_on && !by.in_init;
  if (!step) {
    // The same block may compute an element again where neighbours both need it; another one has no reason to.
    if (e.pending && (e.updated || e.writer != by.number)) return "over what nothing has read";
    e.beginning = ++beginnings_;
    e.taken = false;
  }
  if (step && e.taken) return "which another block has read before the reduction was done";
  e.updated = step;
  e.writer = by.number;
  e.pending = true;
  e.write_strand = strand_;
  return {};
}

bool Rehearsal::step(const Buffer* buffer, int64_t element, int64_t beginning,
                     const std::vector<int64_t>& iters) {
  std::vector<int64_t> key{static_cast<int64_t>(buffer->id), element, beginning};
  key.insert(key.end(), iters.begin(), iters.end());
  return done_.insert(std::move(key)).second;
}

void Rehearsal::count(const Buffer* buffer, const std::string& block, const std::vector<int64_t>& extents,
                      const std::vector<int64_t>& spatial, const std::vector<int64_t>& reduction) {
  const int64_t where = buffer->scope == Scope::kGlobal ? static_cast<int64_t>(buffer->id) : -1;
  Steps& s = steps_[{where, extents, spatial}];
  s.block = block;
  s.all = 1;
  for (int64_t e : extents) s.all *= e;
  s.seen.insert(reduction);
}

size_t Rehearsal::group_of(const Block& b, const std::vector<const BlockIter*>& iters,
                           const std::vector<int64_t>& extents) {
  std::set<int64_t> tensors;
  for (const auto& list : {b.reads, b.writes}) {
    for (const Region& r : list) {
      if (r.buffer->scope == Scope::kGlobal) tensors.insert(r.buffer->id);
    }
  }
  std::vector<int64_t> key(tensors.begin(), tensors.end());
  key.push_back(-1);
  key.insert(key.end(), extents.begin(), extents.end());
  const auto [it, fresh] = group_by_key_.emplace(std::move(key), groups_.size());
  if (fresh) {
    Group g{b.name.str(), {}, {}, false};
    for (size_t i = 0; i < iters.size(); ++i) {
      g.names.push_back(iters[i]->var->name.str());
      g.seen.emplace_back(static_cast<size_t>(std::max<int64_t>(extents[i], 0)));
    }
    groups_.push_back(std::move(g));
  }
  return it->second;
}

void Rehearsal::visit(size_t group, const std::vector<int64_t>& values) {
  Group& g = groups_[group];
  g.visited = true;
  for (size_t i = 0; i < values.size(); ++i) g.seen[i][static_cast<size_t>(values[i])] = true;
}

std::string Rehearsal::missing() const {
  for (const Group& g : groups_) {
    for (size_t i = 0; i < g.seen.size() && g.visited; ++i) {
      const auto hole = std::find(g.seen[i].begin(), g.seen[i].end(), false);
      if (hole == g.seen[i].end()) continue;
      return cat("block `", g.block, "` is never run with ", hole - g.seen[i].begin(), " for iterator `",
                 g.names[i], "`");
    }
  }
  for (const auto& [key, s] : steps_) {
    if (static_cast<int64_t>(s.seen.size()) != s.all) {
      return cat("block `", s.block, "` does ", s.seen.size(), " of the ", s.all,
                 " steps of its reduction at [", join(std::get<2>(key), ", "), "]");
    }
  }
  return {};
}

bool Rehearsal::conflict(int32_t a, int32_t b) const {
  if (a < 0 || b < 0 || a == b) return false;
  const auto depth = [&](int32_t s) { return strands_[index(s)].depth; };
  const auto parent = [&](int32_t s) { return strands_[index(s)].parent; };
  while (depth(a) > depth(b)) a = parent(a);
  while (depth(b) > depth(a)) b = parent(b);
  if (a == b) return false;
  while (parent(a) != parent(b)) a = parent(a), b = parent(b);
  return strands_[index(a)].activation == strands_[index(b)].activation;
}

bool can_rehearse(const Kernel& k) {
  if (!shape_parameters(k).empty() || !steps_of(k.body, {})) return false;
  // Memory must be small as well: a kernel may touch little of a large buffer.
  const auto elements = [](const Buffer& b) {
    int64_t size = 1;
    for (size_t d = 0; d < b.shape.size() && size >= 0 && size <= kMostRehearsed; ++d) {
      const Expr e = d == 0 && !b.strides.empty() ? b.shape[0] * b.strides[0] : b.shape[d];
      size =
          e->kind == ExprKind::kInt ? size * std::min(e->int_value, kMostRehearsed + 1) : kMostRehearsed + 1;
      if (!b.strides.empty()) break;
    }
    return size < 0 ? kMostRehearsed + 1 : size;
  };
  for (const Buffer* b : all_buffers(k)) {
    if (elements(*b) > kMostRehearsed) return false;
  }
  return true;
}

}  // namespace relay::kernel
