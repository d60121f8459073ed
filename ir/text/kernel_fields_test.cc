// Every field of every statement is compared, printed and read: made of the lists of fields, so
// that a field that is added is tested, too.
#include <gtest/gtest.h>

#include "base/cat.h"
#include "ir/analysis.h"
#include "ir/context.h"
#include "ir/text/print_kernel.h"
#include "kernel/fields.h"
#include "kernel/statements.h"

namespace relay::text {
namespace {

using namespace kernel;
using kernel::Expr;
using kernel::If;

class KernelFields : public ::testing::Test {
 protected:
  const Buffer* buffer(std::string_view name, Scope scope = Scope::kGlobal) {
    return arena().make<Buffer>(c_.next_buffer_id(), c_.symbol(name), kFloat32,
                                arena().list(std::vector<Expr>{pool().integer(8)}), scope);
  }
  Arena& arena() { return c_.arena(); }
  ExprPool& pool() { return c_.pool(); }

  Kernel kernel(Stmt body) {
    Kernel k{};
    k.name = c_.symbol("k");
    k.inputs = arena().list(std::vector<const Buffer*>{x_});
    k.outputs = arena().list(std::vector<const Buffer*>{y_});
    k.temporaries = arena().list(std::vector<const Buffer*>{t_});
    k.body = body;
    return k;
  }

  // Another value for a field. A type of field without one does not compile.
  void change(Binder& v) { v = pool().variable("other"); }
  void change(Expr& e) { e = e->dtype == kBool ? logical_not(e) : e + 1; }
  void change(List<Expr>& list) { list = arena().list(std::vector<Expr>{Expr(list[0]) + 1}); }
  void change(ForKind& how) { how = how == ForKind::kSerial ? ForKind::kUnrolled : ForKind::kSerial; }
  void change(IterKind& kind) {
    kind = kind == IterKind::kSpatial ? IterKind::kReduction : IterKind::kSpatial;
  }
  void change(Symbol& s) { s = c_.symbol(cat(s.text(), "_other")); }
  void change(const Buffer*& b) { b = b->scope == Scope::kLocal ? buffer("l", Scope::kShared) : t_; }
  void change(Stmt& s) { s = make_sequence(arena(), {s ? s : store_, store_}); }
  void change(List<Stmt>& list) { list = arena().list(std::vector<Stmt>{list[0]}); }
  // The fields of a list's items are changed, too: see `changed`.
  void change(List<Region>& list) { list = {}; }
  void change(List<BlockIter>& list) { list = {}; }

  // What comes of `n` when one of its fields is another one; the names of variables mean nothing.
  template <class T>
  std::vector<Stmt> changed(const T& n) {
    std::vector<Stmt> out;
    const auto one = [&](auto field) {
      using Field = std::decay_t<decltype(n.*field)>;
      if constexpr (!std::is_same_v<Field, Binder>) {
        out.push_back(changed_copy(arena(), n, [&](T& copy) { change(copy.*field); }));
      }
      if constexpr (std::is_same_v<Field, List<Region>> || std::is_same_v<Field, List<BlockIter>>)
        changed_items(n, field, out);
    };
    T::kFields([&](auto... field) { (one(field), ...); });
    return out;
  }
  template <class T, class Item>
  void changed_items(const T& n, List<Item> T::* list, std::vector<Stmt>& out) {
    const auto one = [&](auto field) {
      if constexpr (!std::is_same_v<std::decay_t<decltype(std::declval<Item>().*field)>, Binder>) {
        std::vector<Item> items((n.*list).begin(), (n.*list).end());
        change(items[0].*field);
        out.push_back(with(arena(), n, list, arena().list(items)));
      }
    };
    Item::kFields([&](auto... field) { (one(field), ...); });
  }

  Context c_;
  const Buffer *x_ = buffer("x"), *y_ = buffer("y"), *t_ = buffer("t"), *local_ = buffer("l", Scope::kLocal);
  Expr i_ = pool().variable("i"), v_ = pool().variable("v");
  Stmt store_ = make_store(arena(), y_, {pool().integer(3)}, pool().real(1, kFloat32));
};

TEST_F(KernelFields, AreComparedAndPrinted) {
  const std::vector<Expr> at{v_};
  const List<Region> regions = arena().list(
      std::vector<Region>{{x_, arena().list(at), arena().list(std::vector<Expr>{pool().integer(1)})}});
  const BlockIter iter{v_, pool().integer(8), IterKind::kSpatial, i_};
  const Stmt sequence = make_stmt<Seq>(arena(), arena().list(std::vector<Stmt>{store_, store_}));
  const std::vector<Stmt> statements{
      make_for(arena(), pool().variable("j"), pool().integer(8), ForKind::kSerial, store_),
      make_stmt<Block>(arena(), c_.symbol("b"), arena().list(std::vector<BlockIter>{iter}), regions, regions,
                       less(i_, pool().integer(5)), store_, store_, c_.symbol("dot")),
      make_store(arena(), y_, {i_}, pool().real(1, kFloat32)),
      sequence,
      make_if(arena(), less(i_, pool().integer(5)), store_, store_),
      make_allocate(arena(), local_, store_),
      make_require(arena(), less(i_, pool().integer(5)), c_.symbol("message")),
      make_prefetch(arena(), x_, {i_}),
      make_nop(arena()),
  };
  size_t variants = 0;
  for (Stmt s : statements) {
    const auto in_loop = [&](Stmt inner) {
      return kernel(make_for(arena(), i_, pool().integer(8), ForKind::kSerial, inner));
    };
    const Kernel was = in_loop(s);
    EXPECT_TRUE(structurally_equal(was, in_loop(kernel::match(s, [&](const auto& n) -> Stmt {
                                     return changed_copy(arena(), n, [](auto&) {});
                                   }))));
    for (Stmt other : kernel::match(s, [&](const auto& n) { return changed(n); })) {
      const Kernel now = in_loop(other);
      ++variants;
      EXPECT_FALSE(structurally_equal(was, now)) << show(was) << show(now);
      EXPECT_NE(show(was), show(now));
      EXPECT_NE(print_kernel("k", was), print_kernel("k", now));
    }
  }
  EXPECT_GE(variants, 33u);
}

}  // namespace
}  // namespace relay::text
