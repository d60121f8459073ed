#include "vta/compile/lower.h"

#include <map>
#include <tuple>

#include "base/cat.h"
#include "base/integers.h"
#include "vta/compile/micro_op_lists.h"
#include "vta/compile/pack.h"
#include "vta/compile/slots.h"
#include "vta/compile/tile_cache.h"
#include "vta/compile/tokens.h"

namespace relay::vta {
namespace {

constexpr int kLayerOrigin = 0;

// Positions [begin, end) of results.
struct Extent {
  int64_t begin = 0, end = 0;

  int64_t size() const { return end - begin; }
};

// A tile in its layer.
struct Piece {
  const Section* section = nullptr;
  int section_index = 0;
  Extent bundles, batches, outs, rows, columns;

  int64_t first_out_block() const {
    return section->first_out + bundles.begin * section->out_blocks + outs.begin;
  }
  int64_t first_in_block(int64_t in) const {
    return section->first_in + bundles.begin * section->in_blocks + in;
  }
  Tile tile(int64_t ins) const {
    return {bundles.size(), batches.size(), outs.size(), ins, rows.size(), columns.size()};
  }
};

// Calls `visit` with [0, step), [step, 2 step) and so on; the last one ends at `end`.
template <class Visit>
void for_each_extent(int64_t end, int64_t step, Visit visit) {
  for (int64_t at = 0; at < end; at += step) visit(Extent{at, std::min(at + step, end)});
}

class Lowering {
 public:
  Lowering(const Layer& l, const Schedule& s, const Params& params)
      : l_(l),
        s_(s),
        params_(params),
        b_(in_blocks(l, params)),
        inputs_(s.inputs, 0),
        weights_(s.weights, 0),
        channels_(s.channels, s.sums.total() + s.operands) {}

  Result<LayerCode> run(Diagnostics& d) {
    out_.input = input_shape(l_), out_.output = output_shape(l_), out_.schedule = s_;
    out_.origins.push_back(l_.origin);
    constants_.resize(l_.steps.size());
    for (const LayerStep& step : l_.steps) {
      out_.origins.push_back(step.origin);
      out_.operands.push_back(step.operand);
    }
    all_pieces();
    origin_ = static_cast<int>(l_.steps.size());
    emit({.opcode = Opcode::kFinish});
    int64_t too_long = 0;
    const int64_t room = reachable(params_, Memory::kUop);
    if (!micro_op_lists_.place(out_, lists_, room, too_long)) {
      d.error(l_.origin.span, "vta-layer",
              cat("an instruction of it takes ", too_long, " micro-ops, and `uop` has ", room, " elements"));
      return kReported;
    }
    add_tokens(params_, out_.micro_ops, out_.instructions);
    return std::move(out_);
  }

 private:
  // --- the loops over tiles

  void all_pieces() {
    for (size_t k = 0; k < b_.sections.size(); k++) {
      Piece piece = {.section = &b_.sections[k], .section_index = static_cast<int>(k)};
      for_each_extent(piece.section->bundles, s_.tile.bundles, [&](Extent bundles) {
        piece.bundles = bundles;
        const auto outs = [&](auto inner) {
          for_each_extent(piece.section->out_blocks, s_.tile.outs,
                          [&](Extent e) { piece.outs = e, inner(); });
        };
        if (s_.blocks_outside) {
          outs([&] { images(piece, [&] { this->piece(piece); }); });
        } else {
          images(piece, [&] { outs([&] { this->piece(piece); }); });
        }
      });
    }
  }

  template <class Inner>
  void images(Piece& piece, Inner inner) {
    for_each_extent(b_.batches, s_.tile.batches, [&](Extent batches) {
      for_each_extent(b_.out_rows, s_.tile.rows, [&](Extent rows) {
        for_each_extent(b_.out_columns, s_.tile.columns, [&](Extent columns) {
          piece.batches = batches, piece.rows = rows, piece.columns = columns;
          inner();
        });
      });
    });
  }

  void piece(const Piece& p) {
    sums_ = pieces_++ % s_.threads * s_.sums.size;
    load_constants(p);
    size_t next_step = 0;
    if (l_.starts_at_constants) {
      if (pieces_ == 1) reset_slots();
      step(p, static_cast<int>(next_step++));
    } else if (l_.kind != LayerKind::kElementwise) {
      reset(p);
    }
    origin_ = kLayerOrigin;
    switch (l_.kind) {
      case LayerKind::kProduct:
      case LayerKind::kTransposed: product(p); break;
      case LayerKind::kMaxPool:
      case LayerKind::kSumPool: pool(p); break;
      case LayerKind::kElementwise: copy(p);
    }
    for_each_part(p, pieces_ == count_pieces() ? s_.last_parts : 1, [&](const Piece& part) {
      for (size_t k = next_step; k < l_.steps.size(); k++) step(part, static_cast<int>(k));
      store(part);
    });
  }

  int64_t count_pieces() const {
    int64_t out = 0;
    for (const Section& s : b_.sections)
      out += ceil_div(s.bundles, s_.tile.bundles) * ceil_div(s.out_blocks, s_.tile.outs);
    return out * ceil_div(b_.batches, s_.tile.batches) * ceil_div(b_.out_rows, s_.tile.rows) *
           ceil_div(b_.out_columns, s_.tile.columns);
  }

  // Calls `visit` with parts along the outermost extent, whose accumulators begin at `sums_` then.
  template <class Visit>
  void for_each_part(Piece p, int64_t parts, Visit visit) {
    constexpr std::pair<int64_t Tile::*, Extent Piece::*> kExtents[] = {{&Tile::batches, &Piece::batches},
                                                                        {&Tile::bundles, &Piece::bundles},
                                                                        {&Tile::outs, &Piece::outs},
                                                                        {&Tile::rows, &Piece::rows},
                                                                        {&Tile::columns, &Piece::columns}};
    const auto along = std::find_if(std::begin(kExtents), std::end(kExtents), [&](const auto& e) {
                         return e.first == outermost(p.tile(1));
                       })->second;
    const Extent whole = p.*along;
    for_each_extent(whole.size(), ceil_div(whole.size(), parts), [&](Extent e) {
      p.*along = {whole.begin + e.begin, whole.begin + e.end};
      visit(p);
      sums_ += p.tile(1).out_vectors();
    });
  }

  // --- instructions

  void emit(const Instruction& i, int buffer = buffers::kNone, int list = MicroOpLists::kNone) {
    out_.instructions.push_back(i);
    out_.lines.push_back({origin_, buffer});
    lists_.push_back(list);
  }
  void move(Opcode opcode, Memory memory, int buffer, const Box& box, int64_t sram, int64_t dram) {
    transfer({.opcode = opcode, .memory = memory}, box, sram, dram,
             [&](const Instruction& i) { emit(i, buffer); });
  }
  void run(Instruction i, const Nest& nest) {
    std::vector<MicroOp> list = fold(nest, i);
    emit(i, buffers::kNone, micro_op_lists_.add(std::move(list)));
  }

  // ALU or the reset of GEMM on all accumulators of the tile.
  void on_all(const Instruction& i, const Piece& p, OperandKind operand, int64_t src) {
    run(i, {step_loops(p.tile(1), operand), {{}}, {sums_, src, 0}});
  }
  void reset(const Piece& p) {
    origin_ = kLayerOrigin;
    on_all({.opcode = Opcode::kGemm, .reset = true}, p, OperandKind::kImmediate, 0);
  }

  // No tile has left its results there yet.
  void reset_slots() {
    origin_ = kLayerOrigin;
    std::vector<Loop> loops = step_loops(s_.tile, OperandKind::kImmediate);
    loops.insert(loops.begin(), {s_.sums.count, {s_.sums.size}});
    run({.opcode = Opcode::kGemm, .reset = true}, {std::move(loops), {{}}, {}});
  }

  Pixels input_pixels() const { return {b_.in_blocks, l_.rows.size, l_.columns.size, b_.row_step}; }
  Pixels output_pixels() const { return {b_.out_blocks, b_.out_rows, b_.out_columns}; }
  // The first element of a box.
  static int64_t at(const Pixels& all, int64_t batch, int64_t block, int64_t row, int64_t column) {
    return ((batch * all.blocks + block) * all.rows + row * all.row_step) * all.columns + column;
  }

  void load_input(const Piece& p, Memory memory, int64_t sram, Extent blocks, const Clipped& rows,
                  const Clipped& columns) {
    move(Opcode::kLoad, memory, buffers::kInput,
         activation_box(input_pixels(), p.batches.size(), blocks.size(), rows, columns), sram,
         at(input_pixels(), p.batches.begin, blocks.begin, rows.first, columns.first));
  }
  // Tensors that have the shape of the result.
  void move_output(Opcode opcode, Memory memory, int buffer, const Piece& p, int64_t sram) {
    const Clipped rows = {p.rows.begin, p.rows.size()}, columns = {p.columns.begin, p.columns.size()};
    move(opcode, memory, buffer,
         activation_box(output_pixels(), p.batches.size(), p.tile(1).out_blocks(), rows, columns), sram,
         at(output_pixels(), p.batches.begin, p.first_out_block(), rows.first, columns.first));
  }

  // --- products

  void product(const Piece& p) {
    const Clipped rows = clip(window_of(l_.kind, b_.rows, p.rows.begin, p.rows.size()), b_.rows.size);
    const Clipped columns =
        clip(window_of(l_.kind, l_.columns, p.columns.begin, p.columns.size()), l_.columns.size);
    if (rows.count == 0 || columns.count == 0) return;  // nothing but zeros
    for_each_extent(p.section->in_blocks, s_.tile.ins, [&](Extent ins) {
      const Tile tile = p.tile(ins.size());
      const int64_t first = p.first_in_block(ins.begin);
      const Extent blocks = {first, first + tile.in_blocks()};
      const TileCache::Found weights =
          weights_.find({p.section_index, p.bundles.begin, p.outs.begin, ins.begin});
      const TileCache::Found input = inputs_.find(
          {p.section_index, p.bundles.begin, p.batches.begin, ins.begin, p.rows.begin, p.columns.begin});
      const auto load_weights = [&] {
        if (!weights.loaded)
          move(Opcode::kLoad, Memory::kWgt, buffers::kWeights, weight_box(tile, *p.section, b_.taps),
               weights.base, weights_at(p, ins.begin));
      };
      // The smaller LOAD comes first: `compute` waits for the bus to load micro-ops and constants.
      if (weights_are_smaller_) load_weights();
      if (!input.loaded) load_input(p, Memory::kInp, input.base, blocks, rows, columns);
      if (!weights_are_smaller_) load_weights();
      for (const Phase& r : phases_of(l_.kind, b_.rows, p.rows.begin, p.rows.size())) {
        for (const Phase& c : phases_of(l_.kind, l_.columns, p.columns.begin, p.columns.size()))
          run({.opcode = Opcode::kGemm}, {product_loops(tile, r, c, rows.size(), columns.size(), b_.taps),
                                          product_offsets(tile, r, c, columns.size(), l_.columns.window),
                                          {sums_, input.base, weights.base}});
      }
    });
  }

  int64_t weights_at(const Piece& p, int64_t in) const {
    const Section& s = *p.section;
    return s.first_weight + ((p.bundles.begin * s.out_blocks + p.outs.begin) * s.in_blocks + in) * b_.taps;
  }

  // --- pooling and elementwise layers

  void pool(const Piece& p) {
    const Clipped rows = clip_off(window_of(l_.kind, l_.rows, p.rows.begin, p.rows.size()), l_.rows.size);
    const Clipped columns =
        clip_off(window_of(l_.kind, l_.columns, p.columns.begin, p.columns.size()), l_.columns.size);
    const int64_t blocks = p.bundles.size(), first = p.first_in_block(0), operand = s_.sums.total();
    const bool largest = l_.kind == LayerKind::kMaxPool;
    if (largest)
      on_all({.opcode = Opcode::kAlu, .alu_op = AluOp::kAdd, .use_imm = true, .imm = INT8_MIN}, p,
             OperandKind::kImmediate, 0);
    load_input(p, Memory::kAcc8, operand, {first, first + blocks}, rows, columns);
    // Windows are cut at the border, so a tap may have fewer results than others.
    std::map<std::tuple<int64_t, int64_t, int64_t, int64_t>, std::vector<Indices>> taps;
    for (int64_t y = 0; y < l_.rows.window; y++) {
      const Extent ys = seen(l_.rows, p.rows, y);
      for (int64_t x = 0; x < l_.columns.window; x++) {
        const Extent xs = seen(l_.columns, p.columns, x);
        if (ys.size() <= 0 || xs.size() <= 0) continue;
        const int64_t row = input_of(l_.rows, ys.begin, y) - rows.first;
        const int64_t column = input_of(l_.columns, xs.begin, x) - columns.first;
        taps[{ys.begin, ys.end, xs.begin, xs.end}].push_back(
            {(ys.begin - p.rows.begin) * p.columns.size() + xs.begin - p.columns.begin,
             row * columns.count + column});
      }
    }
    const int64_t out = p.rows.size() * p.columns.size(), in = rows.count * columns.count;
    for (auto& [at, offsets] : taps) {
      const auto [y0, y1, x0, x1] = at;
      run({.opcode = Opcode::kAlu, .alu_op = largest ? AluOp::kMax : AluOp::kAdd},
          {{{p.batches.size() * blocks, {out, in}},
            {y1 - y0, {p.columns.size(), l_.rows.stride * columns.count}},
            {x1 - x0, {1, l_.columns.stride}}},
           std::move(offsets),
           {sums_, operand, 0}});
    }
  }

  static int64_t input_of(const Axis& a, int64_t result, int64_t tap) {
    return result * a.stride - a.pad_before + tap * a.dilation;
  }
  // Results that see the input by this tap.
  static Extent seen(const Axis& a, Extent results, int64_t tap) {
    const int64_t behind = a.pad_before - tap * a.dilation;  // result * stride >= this
    return {std::max(results.begin, -quotient_down(-behind, a.stride)),
            std::min(results.end, quotient_down(a.size - 1 + behind, a.stride) + 1)};
  }

  void copy(const Piece& p) {
    move_output(Opcode::kLoad, Memory::kAcc8, buffers::kInput, p, sums_);
    // Boards may keep results beside the accumulators, where LOAD brings nothing.
    if (l_.steps.empty())
      on_all({.opcode = Opcode::kAlu, .alu_op = AluOp::kAdd, .use_imm = true}, p, OperandKind::kImmediate, 0);
  }

  // --- steps

  // Constants for channels are loaded before the tile waits for anything else.
  void load_constants(const Piece& p) {
    if (!s_.channels.count) return;
    const int64_t room = s_.channels.size / channel_steps(l_);  // for those of a step
    const bool all = room == b_.out_blocks;
    const TileCache::Found slot = channels_.find(
        all ? TileCache::Key{} : TileCache::Key{p.section_index, p.bundles.begin, p.outs.begin});
    const Extent blocks =
        all ? Extent{0, room} : Extent{p.first_out_block(), p.first_out_block() + p.tile(1).out_blocks()};
    int64_t base = slot.base;
    for (size_t k = 0; k < l_.steps.size(); k++) {
      if (l_.steps[k].operand != OperandKind::kChannel) continue;
      origin_ = 1 + static_cast<int>(k);
      constants_[k] = base - blocks.begin;
      if (!slot.loaded)
        move(Opcode::kLoad, Memory::kAcc, buffers::kSteps + static_cast<int>(k), {{blocks.size(), 1}}, base,
             blocks.begin);
      base += room;
    }
  }

  void step(const Piece& p, int index) {
    const LayerStep& step = l_.steps[static_cast<size_t>(index)];
    const int buffer = buffers::kSteps + index;
    Instruction i = {.opcode = Opcode::kAlu, .alu_op = step.op};
    int64_t src = 0;
    origin_ = 1 + index;
    switch (step.operand) {
      case OperandKind::kImmediate:
        i.use_imm = true;
        i.imm = static_cast<int16_t>(step.immediate);
        break;
      case OperandKind::kTensor:
        src = s_.sums.total();
        move_output(Opcode::kLoad, Memory::kAcc8, buffer, p, src);
        break;
      case OperandKind::kChannel: src = constants_[static_cast<size_t>(index)] + p.first_out_block(); break;
    }
    on_all(i, p, step.operand, src);
  }

  void store(const Piece& p) { move_output(Opcode::kStore, Memory::kOut, buffers::kOutput, p, sums_); }

  const Layer& l_;
  const Schedule& s_;
  const Params& params_;
  BlockedLayer b_;
  LayerCode out_;
  MicroOpLists micro_op_lists_;
  std::vector<int> lists_;  // of each instruction
  TileCache inputs_, weights_, channels_;
  int64_t pieces_ = 0;
  int64_t sums_ = 0;  // where the accumulators of this tile begin
  const bool weights_are_smaller_ =
      s_.weights.size * params_.dram_bytes(Memory::kWgt) < s_.inputs.size * params_.dram_bytes(Memory::kInp);
  std::vector<int64_t> constants_;  // of each step for channels: where those of the first block are
  int origin_ = kLayerOrigin;
};

}  // namespace

Result<LayerCode> lower(const Layer& layer, const Schedule& schedule, const Params& params, Diagnostics& d) {
  return Lowering(layer, schedule, params).run(d);
}

}  // namespace relay::vta
