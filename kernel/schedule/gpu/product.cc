// Sums of products of two operands that vary along different axes: matrix products and
// convolutions alike.
//
// The axes of the result that only the one operand knows are its rows, those that only the
// other one knows its columns; those that both know are a batch. A block computes a tile of
// rows and columns, step by step along the sum: its threads put the pieces of both operands
// into shared memory, then each adds to a few rows and columns of its own, which stay in
// registers. An operand may be any expression: what is outside of it, as padding is, is
// computed where its element is put.
#include <algorithm>

#include "kernel/schedule/contraction.h"
#include "kernel/schedule/gpu/rules.h"
#include "kernel/schedule/primitives/primitive.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule::gpu {
namespace {

constexpr int64_t kSide = 16;  // threads of a block along the rows, and along the columns
constexpr int64_t kPadding =
    4;  // elements between the columns of a tile that is put along its rows: other banks
constexpr int64_t kManyBlocks = 128;    // that keep the machine busy
constexpr int64_t kTermsOfAPart = 256;  // of a sum that several blocks share
constexpr int64_t kTypical = 64;        // what is taken for an extent that is not known

struct Tile {
  int64_t rows, columns, steps;
};

// How many there are of something: its axes' extents multiplied.
struct Count {
  Expr all;
  std::optional<int64_t> known;  // nothing if an extent is not constant, or it is beyond 32 bits
  // As far as it decides about tiles.
  int64_t typical() const { return known.value_or(kTypical); }
};

struct Operand {
  Expr value;
  std::vector<Axis> axes;  // of the result, that only this operand knows
  Count count = {};
  bool along_sum = false;         // neighbours in memory are neighbours along the sum
  const Buffer* piece = nullptr;  // shared by the threads of a block: what a step takes of it
};

class Product {
 public:
  Product(Writer& w, const target::Gpu& gpu, const AnchoredStage& anchored)
      : w_(w), gpu_(gpu), anchored_(anchored), s_(anchored.stage) {}

  // Is it one?
  bool find() {
    const std::optional<ContractionView> view = contraction_view(s_);
    if (!view || !view->is_sum() || s_.spatial.empty()) return false;
    const auto operands = view->operands();
    if (!operands) return false;
    starts_neutral_ = view->starts_neutral();
    auto [first, second] = *operands;
    // Neighbouring results should be neighbouring columns.
    if (mentions(first, s_.spatial.back().var) && !mentions(second, s_.spatial.back().var))
      std::swap(first, second);
    rows_.value = first;
    columns_.value = second;
    for (const Axis& a : s_.spatial) {
      const bool row = mentions(first, a.var), column = mentions(second, a.var);
      if (a.extent.is_int(1) || row == column) {
        batch_.push_back(a);
      } else {
        (row ? rows_ : columns_).axes.push_back(a);
      }
    }
    const auto is_large = [](const Count& c) { return c.known.value_or(kFew) >= kFew; };
    batches_ = count(batch_);
    steps_ = count(s_.reduction);
    if (!measure(rows_) || !measure(columns_)) return false;
    if (!is_large(rows_.count) || !is_large(columns_.count) || !is_large(steps_)) return false;
    choose_tile();
    return true;
  }

  Stmt write() {
    prepare();
    const Expr down = divide_up(rows_.count.all, tile_.rows),
               across = divide_up(columns_.count.all, tile_.columns);
    const std::vector<Expr> grid{part_.extent, batches_.all, down, across};
    Stmt tiles = w_.loop(ForKind::kBlockX, "block", part_.extent * batches_.all * down * across,
                         [&](Expr block) { return write_tile(unflatten(block, grid)); });
    return shared_ ? w_.sequence({tiles, add_up(shared_, part_)}) : tiles;
  }

 private:
  static int64_t pieces(int64_t all, int64_t of) { return (all + of - 1) / of; }

  using Bindings = std::vector<Binding>;

  void prepare() {
    const DType d = s_.buffer->dtype;
    rows_.piece = piece("_rows", rows_, tile_.rows);
    columns_.piece = piece("_columns", columns_, tile_.columns);
    sums_ = w_.local(s_.name + "_sums", d,
                     {w_.index(kSide), w_.index(kSide), w_.index(own_rows()), w_.index(own_columns())});
    part_ = w_.axis("part", w_.index(parts_));
    if (parts_ > 1) {
      std::vector<Expr> shape = extents_of(s_.spatial);
      shape.insert(shape.begin(), part_.extent);
      shared_ = w_.temporary(s_.name + "_parts", d, shape);
    }
    steps_of_part_ = divide_up(divide_up(steps_.all, tile_.steps), parts_);
    y_ = w_.axis("y", w_.index(kSide));
    x_ = w_.axis("x", w_.index(kSide));
    i_ = w_.axis("i", w_.index(own_rows()));
    j_ = w_.axis("j", w_.index(own_columns()));
    sum_ = w_.pool().load(sums_, place_of_sum());
  }
  // Of one thread.
  int64_t own_rows() const { return tile_.rows / kSide; }
  int64_t own_columns() const { return tile_.columns / kSide; }
  std::vector<Expr> place_of_sum() const { return {y_.var, x_.var, i_.var, j_.var}; }

  // What a block computes: `at` is its part of the sums, its batch, and its tile, down and across.
  Stmt write_tile(const std::vector<Expr>& at) {
    const std::vector<Expr> batch = unflatten(at[1], extents_of(batch_));
    Stmt begin = on_sums([&](const Bindings& where) {
      return w_.block(s_.name + "_init", where,
                      w_.store(sums_, place_of_sum(), w_.pool().constant(0, s_.buffer->dtype)));
    });
    const Accumulators accumulators{
        s_.name, sums_, place_of_sum(), [&](const std::string& name, Stmt body) {
          return on_sums([&](const Bindings& where) { return w_.block(name, where, body); });
        }};
    // However small the tile, its threads have no registers to spare, and wait for each
    // other once a step.
    const SumOrder order = sum_order(s_, INT64_MAX).by(tile_.steps);
    Stmt add = add_terms(w_, order, accumulators, {steps_of_part_}, [&](const std::vector<Expr>& turn) {
      const Expr step = at[0] * steps_of_part_ + turn[0];
      Stmt load = on_block([&](Expr ty, Expr tx) {
        return w_.sequence({fill(rows_, tile_.rows, batch, at[2] * tile_.rows, step, ty, tx),
                            fill(columns_, tile_.columns, batch, at[3] * tile_.columns, step, ty, tx)});
      });
      return w_.sequence({load, on_block([&](Expr ty, Expr tx) { return multiply(ty, tx); })});
    });
    Stmt result = on_sums([&](const Bindings& where) { return write_result(at, batch, where); });
    return w_.allocate(rows_.piece,
                       w_.allocate(columns_.piece, w_.allocate(sums_, w_.sequence({begin, add, result}))));
  }

  // All sums of a thread; those of all threads.
  Stmt each_sum(Expr ty, Expr tx, const std::function<Stmt(const Bindings&)>& body) {
    return w_.loop(ForKind::kUnrolled, "i", own_rows(), [&](Expr r) {
      return w_.loop(ForKind::kUnrolled, "j", own_columns(), [&](Expr c) {
        return body({{y_, IterKind::kSpatial, ty},
                     {x_, IterKind::kSpatial, tx},
                     {i_, IterKind::kSpatial, r},
                     {j_, IterKind::kSpatial, c}});
      });
    });
  }
  Stmt on_sums(const std::function<Stmt(const Bindings&)>& body) {
    return on_block([&](Expr ty, Expr tx) { return each_sum(ty, tx, body); });
  }

  // The terms of a step, onto the sums of a thread.
  Stmt multiply(Expr ty, Expr tx) {
    const Axis k = w_.axis("k", w_.index(tile_.steps));
    return w_.loop(ForKind::kSerial, "k", tile_.steps, [&](Expr kk) {
      return each_sum(ty, tx, [&](const Bindings& where) {
        Bindings all = where;
        all.push_back({k, IterKind::kReduction, kk});
        const Expr left = w_.pool().load(rows_.piece, {k.var, y_.var * own_rows() + i_.var}),
                   right = w_.pool().load(columns_.piece, {k.var, x_.var * own_columns() + j_.var});
        return w_.block(s_.name, all,
                        w_.store(sums_, place_of_sum(), s_.combine->of(w_.pool(), sum_, left * right)));
      });
    });
  }

  // Puts a sum into the result, or among the parts of what becomes one.
  Stmt write_result(const std::vector<Expr>& at, const std::vector<Expr>& batch, const Bindings& where) {
    const Expr row = at[2] * tile_.rows + where[0].value * own_rows() + where[2].value,
               column = at[3] * tile_.columns + where[1].value * own_columns() + where[3].value;
    Bindings all = where;
    add_places(all, batch_, batch);
    add_places(all, rows_.axes, unflatten(row, extents_of(rows_.axes)));
    add_places(all, columns_.axes, unflatten(column, extents_of(columns_.axes)));
    if (shared_) all.push_back({part_, IterKind::kSpatial, at[0]});
    Stmt store = shared_ ? w_.store(shared_, places_of(part_.var), sum_)
                         : anchored_.write_back(w_, anchored_.variables(), with_init(sum_));
    store = w_.block(s_.name + "_result", all, store);
    return w_.choose(
        logical_and(inside(row, rows_.count, tile_.rows), inside(column, columns_.count, tile_.columns)),
        store, nullptr);
  }

  std::vector<Expr> places_of(Expr part) const {
    std::vector<Expr> out = anchored_.variables();
    out.insert(out.begin(), part);
    return out;
  }
  Expr with_init(Expr sum) { return starts_neutral_ ? sum : s_.combine->of(w_.pool(), s_.init, sum); }

  Stmt add_up(const Buffer* parts, const Axis& part) {
    const std::vector<Expr> extents = extents_of(s_.spatial);
    const Buffer* all = w_.local(s_.name + "_all", s_.buffer->dtype, {w_.index(1)});
    const Expr so_far = w_.pool().load(all, {w_.index(0)});
    return on_threads(w_, gpu_, product(w_.pool(), extents), [&](Expr i) {
      const std::vector<Binding> place = anchored_.bind(unflatten(i, extents));
      Stmt begin = w_.block(s_.name + "_begin", {},
                            w_.store(all, {w_.index(0)}, w_.pool().constant(0, s_.buffer->dtype)));
      Stmt terms = w_.loop(ForKind::kSerial, "part", parts_, [&](Expr p) {
        std::vector<Binding> bindings = place;
        bindings.push_back({part, IterKind::kReduction, p});
        const Expr next = w_.pool().load(parts, places_of(part.var));
        return w_.block(s_.name + "_add", bindings,
                        w_.store(all, {w_.index(0)}, s_.combine->of(w_.pool(), so_far, next)));
      });
      Stmt end = w_.block(s_.name + "_end", place,
                          anchored_.write_back(w_, anchored_.variables(), with_init(so_far)));
      return w_.allocate(all, w_.sequence({begin, terms, end}));
    });
  }

  static constexpr int64_t kFew = 8;  // of rows, columns or steps: tiles would be mostly empty

  Count count(const std::vector<Axis>& axes) {
    const std::vector<Expr> extents = extents_of(axes);
    return {product(w_.pool(), extents), constant_product(extents)};
  }

  bool measure(Operand& o) {
    if (o.axes.empty()) return false;
    o.count = count(o.axes);
    // Which way do neighbours in memory lie? Padding does not matter here.
    Stride sum = Stride::kNone, own = Stride::kNone;
    for_each_load(o.value, [&](const ExprNode* n) {
      sum = std::max(sum, stride_along(n, s_.reduction.back().var));
      own = std::max(own, stride_along(n, o.axes.back().var));
    });
    o.along_sum = sum == Stride::kOne && own != Stride::kOne;
    return true;
  }

  int64_t blocks(const Tile& t) const {
    return batches_.known.value_or(1) * pieces(rows_.count.typical(), t.rows) *
           pieces(columns_.count.typical(), t.columns);
  }
  // Blocks that share the sums of a tile, if there would surely be few else.
  int64_t parts(const Tile& t) const {
    if (!batches_.known || !rows_.count.known || !columns_.count.known) return 1;
    return std::clamp<int64_t>(pieces(kManyBlocks, blocks(t)), 1,
                               std::max<int64_t>(steps_.typical() / kTermsOfAPart, 1));
  }

  void choose_tile() {
    const int64_t bytes = static_cast<int64_t>(s_.buffer->dtype.bytes());
    // From the one that uses each loaded element most often to the one that makes most blocks.
    for (const Tile& t : {Tile{128, 128, 8}, Tile{64, 64, 16}, Tile{32, 64, 16}, Tile{32, 32, 16}}) {
      if (bytes * t.steps * (t.rows + t.columns + 2 * kPadding) > gpu_.shared_bytes) continue;
      tile_ = t;
      parts_ = parts(t);
      const bool filled = rows_.count.typical() >= t.rows && columns_.count.typical() >= t.columns;
      if (filled && blocks(t) * parts_ >= kManyBlocks) return;
    }
  }

  // Tiles are kept with the sum outermost, so that a thread's rows are neighbours.
  const Buffer* piece(const std::string& name, const Operand& o, int64_t extent) {
    return w_.shared(s_.name + name, o.value->dtype,
                     {w_.index(tile_.steps), w_.index(extent + (o.along_sum ? kPadding : 0))});
  }

  Stmt on_block(const std::function<Stmt(Expr, Expr)>& body) {
    return bound(w_, ForKind::kThreadY, kSide, [&](Expr y) {
      return bound(w_, ForKind::kThreadX, kSide, [&](Expr x) { return body(y, x); });
    });
  }

  Expr inside(Expr index, const Count& of, int64_t tile) {
    return of.known && *of.known % tile == 0 ? w_.pool().integer(1, kBool) : less(index, of.all);
  }

  Expr known_term(Expr term) { return inside(term, steps_, parts_ * tile_.steps); }

  static void add_places(std::vector<Binding>& all, const std::vector<Axis>& axes,
                         const std::vector<Expr>& at) {
    for (size_t d = 0; d < axes.size(); ++d) all.push_back({axes[d], IterKind::kSpatial, at[d]});
  }

  // The operand's elements from row `first` on and of this step, by all threads; zeros
  // where there are none.
  Stmt fill(const Operand& o, int64_t extent, const std::vector<Expr>& batch, Expr first, Expr step, Expr ty,
            Expr tx) {
    const Buffer* to = o.piece;
    const int64_t threads = kSide * kSide;
    const Axis k = w_.axis("k", w_.index(tile_.steps)), i = w_.axis("i", w_.index(extent));
    return w_.loop(ForKind::kUnrolled, "e", tile_.steps * extent / threads, [&](Expr e) {
      const Expr element = e * threads + ty * kSide + tx;
      const Expr kk = o.along_sum ? floor_mod(element, tile_.steps) : floor_div(element, extent),
                 ii = o.along_sum ? floor_div(element, tile_.steps) : floor_mod(element, extent);
      const Expr at = first + ii, term = step * tile_.steps + kk;
      const std::vector<Binding> local = {{k, IterKind::kSpatial, kk}, {i, IterKind::kSpatial, ii}};
      std::vector<Binding> all = local;
      add_places(all, batch_, batch);
      add_places(all, o.axes, unflatten(at, extents_of(o.axes)));
      const std::vector<Expr> terms = unflatten(term, extents_of(s_.reduction));
      for (size_t d = 0; d < terms.size(); ++d)
        all.push_back({s_.reduction[d], IterKind::kSpatial, terms[d]});
      Stmt load = w_.block(to->name.str() + "_load", all, w_.store(to, {k.var, i.var}, o.value));
      Stmt zero = w_.block(to->name.str() + "_zero", local,
                           w_.store(to, {k.var, i.var}, w_.pool().constant(0, o.value->dtype)));
      return w_.choose(logical_and(inside(at, o.count, extent), known_term(term)), load, zero);
    });
  }

  Writer& w_;
  const target::Gpu& gpu_;
  const AnchoredStage& anchored_;
  const Stage& s_;
  std::vector<Axis> batch_;
  Operand rows_, columns_;
  Count batches_ = {}, steps_ = {};
  bool starts_neutral_ = false;
  int64_t parts_ = 1;
  Tile tile_ = {};
  // Where blocks share the sums, each has a part of the terms, and what they have is added up by
  // a launch of its own.
  const Buffer* shared_ = nullptr;
  Axis part_;
  Expr steps_of_part_;
  const Buffer* sums_ = nullptr;  // of a thread, at y, x (which thread), i, j (which of its sums)
  Axis y_, x_, i_, j_;
  Expr sum_;
};

}  // namespace

bool is_tiled_product(Writer& w, const target::Gpu& gpu, const AnchoredStage& anchored) {
  return Product(w, gpu, anchored).find();
}

Stmt write_tiled_product(Writer& w, const target::Gpu& gpu, const AnchoredStage& anchored) {
  Product product(w, gpu, anchored);
  return product.find() ? product.write() : nullptr;
}

}  // namespace relay::kernel::schedule::gpu
