#include "kernel/batched.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/cat.h"
#include "base/check.h"
#include "kernel/statements.h"

namespace relay::kernel {
namespace {

class Batcher {
 public:
  Batcher(ExprPool& pool, const Kernel& k)
      : pool_(pool), k_(k), calls_(pool.shape_variable(unused_name(k))) {}

  Kernel run(const std::vector<bool>& varies, std::string_view name) {
    CHECK(varies.size() == k_.inputs.size(), "one fact for each input");
    for (size_t i = 0; i < varies.size(); ++i) {
      if (varies[i]) add(k_.inputs[i]);
    }
    for (const Buffer* b : k_.outputs) add(b);
    // What is computed from what varies does, too. A tensor may have an initial
    // value that does not.
    for (size_t before = 0; before != with_calls_.size();) {
      before = with_calls_.size();
      for (const Block* b : blocks(k_.body)) {
        const bool depends =
            std::any_of(b->reads.begin(), b->reads.end(), [&](const Region& r) { return has(r.buffer); });
        for (const Region& r : b->writes) {
          if (depends && !has(r.buffer)) add(r.buffer);
        }
      }
    }
    Kernel out = k_;
    out.name = pool_.symbols().intern(name);
    out.batched = {};
    out.inputs = all(k_.inputs);
    out.outputs = all(k_.outputs);
    out.temporaries = all(k_.temporaries);
    out.body = nests(k_.body);
    return out;
  }

 private:
  static std::string unused_name(const Kernel& k) {
    std::unordered_set<std::string> taken;
    for (Expr v : shape_parameters(k)) taken.insert(v->name.str());
    std::string name = "calls";
    while (taken.contains(name)) name += "_";
    return name;
  }

  bool has(const Buffer* b) const { return with_calls_.contains(b); }
  const Buffer* of(const Buffer* b) const { return has(b) ? with_calls_.at(b) : b; }
  List<const Buffer*> all(const List<const Buffer*>& list) {
    std::vector<const Buffer*> out;
    for (const Buffer* b : list) out.push_back(of(b));
    return pool_.arena().list(out);
  }
  void add(const Buffer* b) {
    Buffer copy = *b;
    std::vector<Expr> shape{calls_};
    shape.insert(shape.end(), b->shape.begin(), b->shape.end());
    copy.shape = pool_.arena().list(shape);
    with_calls_[b] = pool_.arena().make<Buffer>(copy);
  }

  // One nest of loops after the other, each of those that write what varies inside a
  // loop over the calls.
  Stmt nests(Stmt s) {
    if (const auto* sequence = s->as<Seq>()) {
      std::vector<Stmt> out;
      for (Stmt part : sequence->body) out.push_back(nests(part));
      return make_sequence(pool_.arena(), out);
    }
    const std::vector<const Block*> all = blocks(s);
    const bool varies = std::any_of(all.begin(), all.end(), [&](const Block* b) {
      return std::any_of(b->writes.begin(), b->writes.end(), [&](const Region& r) { return has(r.buffer); });
    });
    if (!varies) return s;
    const Expr call = pool_.variable("call");
    return make_for(pool_.arena(), call, calls_, ForKind::kSerial,
                    rewrite(pool_.arena(), s, [&](Stmt inner) -> Stmt {
                      const auto* b = inner->as<Block>();
                      return b ? block(*b, call) : inner;
                    }));
  }

  Stmt block(const Block& b, Expr call) {
    const Expr var = pool_.variable("vcall");
    std::vector<BlockIter> iters{{var, calls_, IterKind::kSpatial, call}};
    iters.insert(iters.end(), b.iters.begin(), b.iters.end());
    const auto statement = [&](Stmt s) -> Stmt {
      if (s == nullptr) return s;
      return move_elements(pool_, s,
                           [&](const Buffer* buffer, std::vector<Expr> at) -> std::optional<Element> {
                             if (!has(buffer)) return std::nullopt;
                             at.insert(at.begin(), var);
                             return Element{of(buffer), std::move(at)};
                           });
    };
    return make_block(pool_, b.name.text(), iters, b.predicate, statement(b.init), statement(b.body));
  }

  ExprPool& pool_;
  const Kernel& k_;
  Expr calls_;
  std::unordered_map<const Buffer*, const Buffer*> with_calls_;  // those with the leading dim
};

}  // namespace

Kernel batched(ExprPool& pool, const Kernel& k, const std::vector<bool>& varies, std::string_view name) {
  return Batcher(pool, k).run(varies, name);
}

bool is_weight(const Buffer& b) {
  const std::optional<int64_t> elements = memory_extent(b);
  return elements && *elements >= kWeightBytes / static_cast<int64_t>(b.dtype.bytes());
}

bool varies(const Kernel& one, const Kernel& many, size_t i) {
  return many.inputs[i]->shape.size() > one.inputs[i]->shape.size();
}

bool share_weights(const Kernel& one, const Kernel& many) {
  for (size_t i = 0; i < one.inputs.size(); ++i) {
    if (!varies(one, many, i) && is_weight(*one.inputs[i])) return true;
  }
  return false;
}

std::string cannot_batch(const Kernel& one, const Kernel& many) {
  Expr calls;
  // 0: the same buffer; 1: the same with the number of calls before it; 2: something else.
  const auto dims = [&](const Buffer* a, const Buffer* b) -> size_t {
    const size_t rank = a->shape.size(), more = b->shape.size() == rank ? 0 : 1;
    if (a->dtype != b->dtype || b->shape.size() != rank + more) return 2;
    for (size_t d = 0; d < rank; ++d) {
      if (a->shape[d] != b->shape[d + more]) return 2;
    }
    if (more == 0) return 0;
    const Expr first = b->shape[0];
    if (first->kind != ExprKind::kVar || (calls && calls != first)) return 2;
    calls = first;
    return 1;
  };
  if (!shape_parameters(one).empty()) return cat("`@", one.name.text(), "` has shape variables");
  if (one.inputs.size() != many.inputs.size() || one.outputs.size() != many.outputs.size())
    return cat("`@", many.name.text(), "` takes or gives another number of tensors");
  for (size_t i = 0; i < one.inputs.size(); ++i) {
    if (dims(one.inputs[i], many.inputs[i]) == 2)
      return cat("input `", many.inputs[i]->name.text(), "` of `@", many.name.text(),
                 "` is neither that of one call nor as many as there are calls");
  }
  for (size_t i = 0; i < one.outputs.size(); ++i) {
    if (dims(one.outputs[i], many.outputs[i]) != 1)
      return cat("output `", many.outputs[i]->name.text(), "` of `@", many.name.text(),
                 "` does not have the number of calls before its dims");
  }
  const bool known = std::any_of(many.inputs.begin(), many.inputs.end(), [&](const Buffer* b) {
    return !b->shape.empty() && calls && b->shape[0] == calls;
  });
  return known ? "" : cat("no input of `@", many.name.text(), "` tells the number of calls");
}

}  // namespace relay::kernel
