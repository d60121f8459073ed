#include <algorithm>

#include "base/cat.h"
#include "kernel/schedule/primitives/box.h"
#include "kernel/schedule/primitives/primitives.h"
#include "kernel/simplify.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule::primitives {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 20;  // of a local buffer: threads have stacks of a few megabytes

std::string_view word(Scope scope) {
  return scope == Scope::kGlobal ? "global" : scope == Scope::kShared ? "shared" : "local";
}

// The allocation of the buffer; null if it is a parameter or a temporary.
const Allocate* allocation_of(Stmt root, const Buffer* buffer) {
  const Allocate* found = nullptr;
  visit(root, [&](Stmt s) {
    if (const auto* a = s->as<Allocate>(); a && a->buffer == buffer) found = a;
  });
  return found;
}

bool allocated_within(Stmt s, const Stmt wanted) {
  bool found = false;
  visit(s, [&](Stmt n) { found |= n == wanted; });
  return found;
}

// Does each iteration of the loop write what it reads of the buffer before it reads it?
bool starts_afresh(const For& loop, const Buffer* buffer) {
  const std::vector<const Block*> inside = outermost_blocks(loop.body), from = writers(loop.body, buffer),
                                  to = readers(loop.body, buffer);
  if (from.empty() || (!to.empty() && std::find(inside.begin(), inside.end(), to.front()) <=
                                          std::find(inside.begin(), inside.end(), from.front())))
    return false;
  std::string unused;
  const auto& first = *from.front();
  const std::optional<Box> written = box_written(loop.body, &first, buffer, unused);
  const bool always =
      !first.predicate && std::none_of(first.iters.begin(), first.iters.end(),
                                       [](const BlockIter& i) { return i.kind == IterKind::kReduction; });
  if (!written || !always) return false;
  return std::all_of(to.begin(), to.end(), [&](const Block* b) {
    const std::optional<Box> read = box_read(loop.body, b, buffer, unused);
    if (!read) return false;
    for (size_t d = 0; d < read->size(); ++d) {
      const Range &r = (*read)[d], &w = (*written)[d];
      const Bounds none;
      if (!none.proves_less_equal(w.min, r.min) ||
          !none.proves_less_equal(r.min + r.extent, w.min + w.extent))
        return false;
    }
    return true;
  });
}

// The innermost statement around all accesses that the buffer may live in.
Stmt home_of(Stmt root, const Buffer* buffer) {
  std::vector<Stmt> common;
  bool first = true;
  for (const auto& list : {writers(root, buffer), readers(root, buffer)}) {
    for (const Block* b : list) {
      std::vector<Stmt> path = path_to(root, b);
      path.pop_back();  // around the block
      if (!first) {
        const auto [end, unused] = std::mismatch(common.begin(), common.end(), path.begin(), path.end());
        common.erase(end, common.end());
      } else {
        common = path;
      }
      first = false;
    }
  }
  Stmt home = root;
  for (Stmt s : common) {
    const auto* loop = s->as<For>();
    if (loop && !starts_afresh(*loop, buffer)) return home;
    home = loop ? loop->body : s;
  }
  return home;
}

}  // namespace

Outcome set_scope(const Kernel& k, std::string_view name, Scope scope) {
  const Buffer* buffer = find_buffer(k, name);
  if (buffer == nullptr) return Outcome::refused(cat("there is no buffer `", name, "`"));
  const Allocate* allocation = allocation_of(k.body, buffer);
  if (allocation == nullptr && !is_temporary(k, buffer))
    return Outcome::refused(cat("callers know where `", name, "` is"));
  if (buffer->scope == scope) return Outcome::refused(cat("`", name, "` is ", word(scope), " already"));
  if (allocation == nullptr && writers(k.body, buffer).empty())
    return Outcome::refused(cat("nothing writes `", name, "`"));

  ExprPool& pool = *pool_of(k);
  Arena& arena = pool.arena();
  Kernel out = k;
  if (scope == Scope::kGlobal) {
    std::string why;
    visit(k.body, [&](Stmt s) {
      const auto* f = s->as<For>();
      const bool independent = f && f->how != ForKind::kSerial && f->how != ForKind::kUnrolled;
      if (independent && allocated_within(f->body, allocation))
        why = cat("the iterations of `", show(f->var), "` would share `", name, "`");
    });
    if (!why.empty()) return Outcome::refused(why);
    std::vector<const Buffer*> all(k.temporaries.begin(), k.temporaries.end());
    all.push_back(buffer);
    out.temporaries = arena.list(all);
    out.body = replace(arena, k.body, allocation, allocation->body);
  } else {
    const std::optional<int64_t> extent = memory_extent(*buffer);
    if (!extent) return Outcome::refused(cat("`", name, "` is of no constant size"));
    if (*extent > kMostBytes / static_cast<int64_t>(buffer->dtype.bytes()))
      return Outcome::refused(cat("`", name, "` is larger than ", kMostBytes, " bytes"));
    Stmt home = allocation ? allocation->body : home_of(k.body, buffer);
    std::string why;
    visit(home, [&](Stmt s) {
      const auto* f = s->as<For>();
      if (f == nullptr || f->how < ForKind::kBlockX) return;
      if (scope == Scope::kShared && f->how >= ForKind::kThreadX) return;
      why = cat("the iterations of `", show(f->var), "` could not share `", name, "`");
    });
    if (!why.empty()) return Outcome::refused(why);
    if (allocation == nullptr) {
      std::vector<const Buffer*> all(k.temporaries.begin(), k.temporaries.end());
      std::erase(all, buffer);
      out.temporaries = arena.list(all);
      out.body = replace(arena, k.body, home, make_allocate(arena, buffer, home));
    }
  }
  Buffer copy = *buffer;
  copy.scope = scope;
  return with_buffer(out, buffer, arena.make<Buffer>(copy));
}

}  // namespace relay::kernel::schedule::primitives
