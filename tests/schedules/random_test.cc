// Random schedules compute the same, on the reference executor and, those of a sample, compiled;
// with a fault injected, they are rejected by the validator or still compute the same.
// RELAY_SCHEDULES says how many; the seeds are 1, 2, 3, ...
#include <cstdlib>
#include <map>
#include <memory>
#include <tuple>

#include "kernel/affine.h"
#include "kernel/race_check.h"
#include "tests/schedules/common.h"

namespace relay::kernel::schedule::primitives {
namespace {

uint32_t how_many() {
  const char* given = std::getenv("RELAY_SCHEDULES");
  return given ? static_cast<uint32_t>(std::atoi(given)) : 300;
}

// What a seed stands for. Each has a pool of its own, so that ten thousand do not pile up.
class Case {
 public:
  explicit Case(uint32_t seed) : random_(seed) {
    const Kernel product = kernels_.product(4, 8, 4);
    // Random steps alone hardly ever make the tile that `tensorize` looks for.
    const std::pair<Kernel, std::vector<std::string>> all[] = {
        {kernels_.layer(), {}},
        {kernels_.stencil(), {}},
        {kernels_.running_sum(), {}},
        {kernels_.chain(4, 6), {}},
        {product, {}},
        {kernels_.row_maximum(), {}},
        {product, {"split y.1 4", "reorder y 1 0 2 3", "decompose_reduction y.1"}}};
    std::tie(kernel_, first_) = all[pick(std::size(all))];
    inputs_ = some_inputs(kernel_, seed);
    expected_ = execute(kernel_, inputs_);
  }

  const Kernel& kernel() const { return kernel_; }
  const std::vector<Values>& inputs() const { return inputs_; }
  ExprPool& pool() { return pool_; }
  size_t pick(size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random_); }

  // Applies the first steps and some random ones; counts by primitive which were done.
  Schedule scheduled(std::map<std::string, size_t, std::less<>>& done) {
    Schedule s(kernel_);
    for (const std::string& step : first_) EXPECT_EQ(s.apply(step), "");
    for (int i = 0; i < 7; ++i) {
      const std::string step = random_step(s.kernel());
      if (s.apply(step).empty()) ++done[step.substr(0, step.find(' '))];
    }
    return s;
  }

  // Empty if it gives what the kernel gave before; else what is different.
  std::string difference(const Kernel& k) const {
    try {
      const std::vector<Values> got = execute(k, inputs_);
      for (size_t i = 0; i < got.size(); ++i) {
        if (!identical(got[i], expected_[i])) return "it computes something else";
      }
    } catch (const std::exception& e) {
      return e.what();
    }
    return {};
  }

 private:
  std::string random_step(const Kernel& k) {
    const std::vector<const Block*> all = blocks(k.body);
    const std::vector<const Buffer*> buffers = all_buffers(k);
    const auto block = [&] { return std::string(all[pick(all.size())]->name.text()); };
    const auto buffer = [&] { return std::string(buffers[pick(buffers.size())]->name.text()); };
    const auto loop = [&] {
      const Block* b = all[pick(all.size())];
      return cat(b->name.text(), ".", pick(loops_around(k.body, b).size() + 1));
    };
    const std::string primitive(primitives()[pick(primitives().size())]);
    // Most primitives want loops of some shape first.
    if (pick(3) == 0) return cat("split ", loop(), " ", 1 + pick(5));
    if (primitive == "bind") {
      const char* words[] = {"block_x", "block_y", "thread_x", "thread_y"};
      return cat("bind ", loop(), " ", words[pick(4)]);
    }
    const char* scopes[] = {"global", "shared", "local"};
    if (primitive == "cache_read") return cat("cache_read ", loop(), " ", buffer(), " ", scopes[pick(3)]);
    if (primitive == "set_scope") return cat("set_scope ", buffer(), " ", scopes[pick(3)]);
    if (primitive == "compute_at" || primitive == "reverse_compute_at")
      return cat(primitive, " ", block(), " ", loop());
    if (primitive == "compute_inline" || primitive == "reverse_compute_inline")
      return cat(primitive, " ", block());
    if (primitive == "pad_einsum") {
      const Block* b = all[pick(all.size())];
      std::string step = cat("pad_einsum ", b->name.text());
      for (size_t i = 0; i < b->iters.size(); ++i) step += cat(" ", 1 + pick(4));
      return step;
    }
    if (primitive == "reorder") {
      const Block* b = all[pick(all.size())];
      std::vector<size_t> order(loops_around(k.body, b).size());
      for (size_t i = 0; i < order.size(); ++i) order[i] = i;
      std::shuffle(order.begin(), order.end(), random_);
      return cat("reorder ", b->name.text(), " ", join(order, " "));
    }
    if (primitive == "storage_align")
      return cat("storage_align ", buffer(), " 0 ", 1 + pick(16), " ", pick(3));
    if (primitive == "tensorize") return cat("tensorize ", loop(), " tile_4x4x4");
    if (primitive == "transform_layout") {
      const Buffer* b = buffers[pick(buffers.size())];
      std::vector<std::string> dims;
      for (size_t d = 0; d < b->shape.size(); ++d) {
        dims.push_back(cat(d));
        if (pick(2) == 0) continue;
        dims.back() += "/2";
        dims.push_back(cat(d, "%2"));
      }
      std::shuffle(dims.begin(), dims.end(), random_);
      return cat("transform_layout ", b->name.text(), " ", join(dims, " "));
    }
    return cat(primitive, " ", loop(), primitive == "split" ? cat(" ", 1 + pick(5)) : "");
  }

  Arena arena_;
  SymbolTable symbols_{arena_};
  ExprPool pool_{arena_, symbols_};
  Kernels kernels_{pool_};
  std::mt19937 random_;
  Kernel kernel_;
  std::vector<std::string> first_;
  std::vector<Values> inputs_, expected_;
};

// Scheduled kernels, compiled some at a time, and run with two threads.
class Sample {
 public:
  explicit Sample(native::CodeGenerator compile) : compile_(std::move(compile)) {
    options_.target = target::target_of("native");
  }
  void add(std::string name, const Kernel& k, std::shared_ptr<Case> owner) {
    cases_.push_back({std::move(name), k, owner->inputs()});
    owners_.push_back(std::move(owner));
    if (cases_.size() == kAtATime) check();
  }
  void check() {
    if (!cases_.empty()) {
      EXPECT_EQ(native::disagreements(cases_, options_, 2, compile_), "");
    }
    cases_.clear();
    owners_.clear();
  }

 private:
  static constexpr size_t kAtATime = 100;
  native::CodeGenerator compile_;
  toolchain::CompileOptions options_;
  std::vector<native::Case> cases_;
  std::vector<std::shared_ptr<Case>> owners_;  // of the kernels
};

TEST(RandomSchedules, WhatIsAcceptedComputesTheSame) {
  constexpr uint32_t kByLlvm = 5, kAsCpp = 50;  // every fifth schedule, every fiftieth
  std::map<std::string, size_t, std::less<>> done;
  Sample by_llvm(llvm::compile), as_cpp(native::compile_as_cpp);
  for (uint32_t seed = 1; seed <= how_many(); ++seed) {
    const auto c = std::make_shared<Case>(seed);
    const Schedule s = c->scheduled(done);
    const std::string wrong = c->difference(s.kernel());
    ASSERT_EQ(wrong, "") << "seed " << seed << "\n" << s.trace() << show(s.kernel());
    Schedule again(c->kernel());
    ASSERT_EQ(again.replay(s.trace()), "") << "seed " << seed;
    ASSERT_EQ(show(again.kernel()), show(s.kernel())) << "seed " << seed;
    const std::string name = cat("seed ", seed, "\n", s.trace());
    if (seed % kByLlvm == 0) by_llvm.add(name, s.kernel(), c);
    if (seed % kAsCpp == 0) as_cpp.add(name, s.kernel(), c);
  }
  by_llvm.check();
  as_cpp.check();
  for (std::string_view p : primitives()) {
    if (how_many() >= 1000) {
      EXPECT_GT(done[std::string(p)], 0u) << p << " was never done";
    }
  }
}

// ---- Faults ----

using Fault = Kernel (*)(Case&, const Kernel&);

template <class T>
const T* any_of_kind(Case& c, Stmt root, const std::function<bool(const T&)>& wanted) {
  std::vector<const T*> found;
  visit(root, [&](Stmt s) {
    if (const auto* n = s->as<T>(); n && wanted(*n)) found.push_back(n);
  });
  return found.empty() ? nullptr : found[c.pick(found.size())];
}
Kernel with(Case& c, Kernel k, Stmt old, Stmt by) {
  k.body = replace(c.pool().arena(), k.body, old, by);
  return k;
}

// One iterator over a tensor, with more than one value, gets another binding. Those that only
// say where in a local buffer something is are left alone: a wrong place there is a sound kernel
// for something else.
Kernel rebound(Case& c, const Kernel& k, const std::function<Expr(Expr)>& f) {
  const auto wide = [](const Block& b, const BlockIter& i) {
    const std::vector<const BlockIter*> all = iters_of_tensors(b);
    return std::find(all.begin(), all.end(), &i) != all.end() && !i.extent.is_int(1) &&
           i.binding->kind != ExprKind::kInt;
  };
  const auto* b = any_of_kind<Block>(c, k.body, [&](const Block& n) {
    return std::any_of(n.iters.begin(), n.iters.end(), [&](const BlockIter& i) { return wide(n, i); });
  });
  if (b == nullptr) return k;
  std::vector<BlockIter> iters(b->iters.begin(), b->iters.end());
  size_t i = c.pick(iters.size());
  while (!wide(*b, b->iters[i])) i = (i + 1) % iters.size();
  iters[i].binding = f(iters[i].binding);
  Block copy = *b;
  copy.iters = c.pool().arena().list(iters);
  return with(c, k, b, c.pool().arena().make<Block>(copy));
}
Kernel dropped_iterator(Case& c, const Kernel& k) {
  return rebound(c, k, [&](Expr) { return c.pool().integer(0); });
}
Kernel overlapping_iterator(Case& c, const Kernel& k) {
  return rebound(c, k, [](Expr e) { return floor_div(e, 2); });
}
Kernel shorter_loop(Case& c, const Kernel& k) {
  const auto* f = any_of_kind<For>(
      c, k.body, [](const For& n) { return n.extent->kind == ExprKind::kInt && n.extent->int_value > 1; });
  if (f == nullptr) return k;
  return with(c, k, f, make_for(c.pool().arena(), f->var, f->extent - 1, f->how, f->body));
}
Kernel narrower_predicate(Case& c, const Kernel& k) {
  const auto wide = [](const BlockIter& i) {
    return !i.extent.is_int(1) && i.binding->kind != ExprKind::kInt;
  };
  const auto* b = any_of_kind<Block>(
      c, k.body, [&](const Block& n) { return std::any_of(n.iters.begin(), n.iters.end(), wide); });
  if (b == nullptr) return k;
  const auto i = std::find_if(b->iters.begin(), b->iters.end(), wide);
  const Expr narrower = less(i->binding, i->extent - 1);
  Block copy = *b;
  copy.predicate = b->predicate ? logical_and(b->predicate, narrower) : narrower;
  return with(c, k, b, c.pool().arena().make<Block>(copy));
}
Kernel repeated_statement(Case& c, const Kernel& k) {
  const auto* f = any_of_kind<For>(c, k.body, [](const For&) { return true; });
  if (f == nullptr) return k;
  Stmt again = refresh(c.pool(), f);
  return with(c, k, f, make_sequence(c.pool().arena(), {f, again}));
}
Kernel repeating_loop(Case& c, const Kernel& k) {
  const auto* b = any_of_kind<Block>(c, k.body, [](const Block&) { return true; });
  const Expr again = c.pool().variable("again");
  return with(c, k, b, make_for(c.pool().arena(), again, c.pool().integer(2), ForKind::kSerial, b));
}
Kernel missing_statement(Case& c, const Kernel& k) {
  // The only one that writes a tensor, and nothing else: what is left is otherwise a sound kernel,
  // for something else.
  const auto stores = [](Stmt root) {
    std::map<const Buffer*, size_t> out;
    visit(root, [&](Stmt n) {
      const auto* st = n->as<Store>();
      if (st && st->buffer->scope == Scope::kGlobal) ++out[st->buffer];
    });
    return out;
  };
  const std::map<const Buffer*, size_t> all = stores(k.body);
  const auto needed = [&](Stmt n) {
    const std::map<const Buffer*, size_t> own = stores(n);
    return !own.empty() &&
           std::all_of(own.begin(), own.end(), [&](const auto& o) { return all.at(o.first) == o.second; });
  };
  const auto* s = any_of_kind<Seq>(
      c, k.body, [&](const Seq& n) { return std::any_of(n.body.begin(), n.body.end(), needed); });
  if (s == nullptr) return k;
  std::vector<Stmt> body(s->body.begin(), s->body.end());
  size_t i = c.pick(body.size());
  while (!needed(body[i])) i = (i + 1) % body.size();
  body.erase(body.begin() + static_cast<std::ptrdiff_t>(i));
  return with(c, k, s, make_sequence(c.pool().arena(), body));
}
Kernel other_order(Case& c, const Kernel& k) {
  const auto* s = any_of_kind<Seq>(c, k.body, [](const Seq&) { return true; });
  if (s == nullptr) return k;
  std::vector<Stmt> body(s->body.begin(), s->body.end());
  const size_t i = c.pick(body.size() - 1);
  std::swap(body[i], body[i + 1]);
  return with(c, k, s, make_sequence(c.pool().arena(), body));
}
Kernel parallel_loop(Case& c, const Kernel& k) {
  const auto* f = any_of_kind<For>(c, k.body, [](const For& n) { return n.how == ForKind::kSerial; });
  if (f == nullptr) return k;
  return with(c, k, f, make_for(c.pool().arena(), f->var, f->extent, ForKind::kParallel, f->body));
}

TEST(RandomSchedules, InjectedFaultsAreRejected) {
  const std::pair<std::string_view, Fault> faults[] = {{"dropped iterator", dropped_iterator},
                                                       {"overlapping writes", overlapping_iterator},
                                                       {"missing cover", shorter_loop},
                                                       {"missing cover by a predicate", narrower_predicate},
                                                       {"statement repeated", repeated_statement},
                                                       {"loop around a block", repeating_loop},
                                                       {"statement left out", missing_statement},
                                                       {"statements exchanged", other_order},
                                                       {"wrongly parallel", parallel_loop}};
  std::map<std::string_view, size_t> harmful, rejected;
  size_t injected = 0, beyond = 0;
  std::map<std::string, size_t, std::less<>> done;
  for (uint32_t seed = 1; seed <= how_many(); ++seed) {
    Case c(seed);
    const Kernel sound = c.scheduled(done).kernel();
    for (const auto& [name, inject] : faults) {
      const Kernel faulty = inject(c, sound);
      if (faulty.body == sound.body) continue;
      ++injected;
      if (!race_check_work(faulty)) {  // loops that were split again and again: more than is watched
        ++beyond;
        continue;
      }
      const std::string wrong = c.difference(faulty);
      const bool accepted = validate(faulty).empty();
      ASSERT_FALSE(accepted && !wrong.empty()) << "seed " << seed << ", " << name << ": " << wrong << "\n"
                                               << show(faulty);
      harmful[name] += !wrong.empty();
      rejected[name] += !accepted;
    }
  }
  EXPECT_LT(beyond, injected / 20);
  for (const auto& [name, inject] : faults) {
    EXPECT_GT(rejected[name], how_many() / 20) << name;
    // A race does no harm to an executor that runs one iteration after the other.
    if (name != "wrongly parallel") {
      EXPECT_GT(harmful[name], how_many() / 50) << name;
    }
  }
}

}  // namespace
}  // namespace relay::kernel::schedule::primitives
