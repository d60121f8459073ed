// Streams have the tokens that they need, and no more.
#include "vta/compile/tokens.h"

#include <gtest/gtest.h>

#include "base/cat.h"
#include "vta/compile/pack.h"
#include "vta/compile/testing.h"
#include "vta/isa/testing.h"
#include "vta/isa/text.h"
#include "vta/sim/oracle.h"
#include "vta/sim/simulator.h"

namespace relay::vta {
namespace {

using testing::LayerCase;
using testing::layout_of;

// Scratchpads so small that a small layer has many tiles.
const Params kSmall = {
    .log_uop_buff_size = 9, .log_inp_buff_size = 9, .log_wgt_buff_size = 13, .log_acc_buff_size = 11};

// A layer's code and its buffers in the memory of a board.
class Board {
 public:
  Board(const LayerCase& c, const Layout& layout, int threads) : layout_(layout) {
    Diagnostics d;
    const Result<LayerCode> code = compile_layer(c.layer, c.constants, layout, {.threads = threads}, d);
    CHECK(code.ok(), d.render(SourceMap()));
    const Params& params = layout.params();
    output_ = code->output;
    std::vector<std::vector<uint8_t>> contents = code->contents;
    contents[buffers::kInput] = pack_tensor(code->input, c.input, params);
    contents[buffers::kOutput].resize(static_cast<size_t>(packed_bytes(output_, params)));
    for (size_t k = 0; k < c.tensors.size(); k++) {
      if (!c.tensors[k].empty()) contents[buffers::kSteps + k] = pack_tensor(output_, c.tensors[k], params);
    }
    for (const std::vector<uint8_t>& bytes : contents) {
      addresses_.push_back(*dram.allocate(bytes.size(), d));
      std::copy(bytes.begin(), bytes.end(), dram.find(addresses_.back(), bytes.size()));
    }
    stream = link(*code, addresses_, params);
  }

  // Empty if it was refused.
  std::vector<int8_t> run(std::span<const Instruction> all, std::optional<uint64_t> order,
                          std::string& slug) {
    Simulator simulator(layout_, {.order = order});
    simulator.dram() = dram;
    const Outcome outcome = simulator.run(all);
    slug = outcome.refusal ? std::string(outcome.refusal->slug.name()) : "";
    return outcome.refusal ? std::vector<int8_t>() : result(simulator.dram());
  }

  std::vector<int8_t> result(const Dram& of) const {
    const auto bytes = static_cast<uint64_t>(packed_bytes(output_, layout_.params()));
    return unpack_tensor(output_, {of.find(addresses_[buffers::kOutput], bytes), bytes}, layout_.params());
  }

  Dram dram;
  std::vector<Instruction> stream;

 private:
  Layout layout_;
  TensorShape output_;
  std::vector<uint64_t> addresses_;
};

// A layer of each kind, with operands of each kind.
std::vector<Layer> small_layers() {
  const Axis axis = {.size = 6, .window = 3, .stride = 1, .pad_before = 1, .pad_after = 1};
  const std::vector<LayerStep> steps = {{.op = AluOp::kAdd, .operand = OperandKind::kChannel},
                                        {.op = AluOp::kShr, .immediate = 5},
                                        {.op = AluOp::kAdd, .operand = OperandKind::kTensor},
                                        {.op = AluOp::kMax, .immediate = 0}};
  std::vector<Layer> out;
  out.push_back({.batch = 3, .in_channels = 70, .out_channels = 40, .steps = steps});
  out.push_back({.in_channels = 32, .out_channels = 40, .rows = axis, .columns = axis, .steps = steps});
  out.push_back(
      {.in_channels = 40, .out_channels = 40, .groups = 40, .rows = axis, .columns = axis, .steps = steps});
  Layer transposed = {.kind = LayerKind::kTransposed, .in_channels = 20, .out_channels = 40, .steps = steps};
  transposed.rows =
      transposed.columns = {.size = 4, .window = 4, .stride = 2, .pad_before = 1, .pad_after = 1};
  out.push_back(transposed);
  for (const LayerKind kind : {LayerKind::kMaxPool, LayerKind::kSumPool})
    out.push_back(
        {.kind = kind, .in_channels = 40, .out_channels = 40, .rows = axis, .columns = axis, .steps = steps});
  Layer add = {.kind = LayerKind::kElementwise, .in_channels = 40, .out_channels = 40, .steps = steps};
  add.rows = add.columns = {.size = 6};
  out.push_back(add);
  return out;
}

constexpr bool Instruction::* kPops[] = {&Instruction::pop_prev, &Instruction::pop_next};
constexpr bool Instruction::* kPushes[] = {&Instruction::push_prev, &Instruction::push_next};

// Indices of the instructions of the engine that have the flag.
std::vector<size_t> with(const std::vector<Instruction>& stream, Engine engine, bool Instruction::* flag) {
  std::vector<size_t> out;
  for (size_t i = 0; i < stream.size(); i++) {
    if (engine_of(stream[i]) == engine && stream[i].*flag) out.push_back(i);
  }
  return out;
}

TEST(Tokens, AnyOrderOfEnginesGivesTheReference) {
  std::mt19937_64 random(1);
  for (const Layer& layer : small_layers()) {
    for (const int threads : {1, 2}) {
      const LayerCase c = testing::random_numbers(layer, random);
      Board board(c, layout_of(kSmall), threads);
      const std::vector<int8_t> wanted = testing::reference(c);
      std::string slug;
      for (uint64_t order = 0; order < 40; order++)
        ASSERT_TRUE(board.run(board.stream, order, slug) == wanted) << static_cast<int>(layer.kind) << slug;
      Dram dram = board.dram;
      EXPECT_EQ(run_oracle(layout_of(kSmall), board.stream, dram), "");
      EXPECT_TRUE(board.result(dram) == wanted);
    }
  }
}

TEST(Tokens, EachFlagThatIsMissingIsNoticed) {
  std::mt19937_64 random(1);
  for (const Layer& layer : small_layers()) {
    Board board(testing::random_numbers(layer, random), layout_of(kSmall), 2);
    int removed = 0;
    for (size_t i = 0; i < board.stream.size(); i++) {
      for (bool Instruction::* flag : {kPops[0], kPops[1], kPushes[0], kPushes[1]}) {
        if (!(board.stream[i].*flag)) continue;
        std::vector<Instruction> stream = board.stream;
        stream[i].*flag = false;
        std::string slug;
        board.run(stream, std::nullopt, slug);
        EXPECT_NE(slug, "") << disassemble(board.stream[i]);
        removed++;
      }
    }
    EXPECT_GT(removed, 8);
  }
}

// Push and pop together: nothing stalls, and nothing is left over.
TEST(Tokens, EachTokenThatIsMissingIsARace) {
  std::mt19937_64 random(1);
  for (const Layer& layer : small_layers()) {
    for (const int threads : {1, 2}) {
      Board board(testing::random_numbers(layer, random), layout_of(kSmall), threads);
      for (const Engine from : kAllEngines) {
        for (const bool forward : {false, true}) {
          if (from == (forward ? Engine::kStore : Engine::kLoad)) continue;
          bool Instruction::* push = kPushes[forward];
          bool Instruction::* pop = kPops[!forward];
          const std::vector<size_t> pushes = with(board.stream, from, push);
          const std::vector<size_t> pops = with(board.stream, forward ? next(from) : previous(from), pop);
          ASSERT_EQ(pushes.size(), pops.size());
          for (size_t k = 0; k < pops.size(); k++) {
            std::vector<Instruction> stream = board.stream;
            stream[pushes[k]].*push = stream[pops[k]].*pop = false;
            std::string slug;
            board.run(stream, std::nullopt, slug);
            EXPECT_EQ(slug, "vta-race") << disassemble(board.stream[pushes[k]]) << "\n"
                                        << disassemble(board.stream[pops[k]]);
          }
        }
      }
    }
  }
}

TEST(Tokens, AnInstructionPopsOneTokenForAllThatItNeeds) {
  // Two loads, a product of both, and its store.
  const std::vector<MicroOp> micro_ops = {{}};
  const auto load = [](Memory memory) {
    return Instruction{.memory = memory, .y_size = 1, .x_size = 1, .x_stride = 1};
  };
  std::vector<Instruction> stream = {
      load(Memory::kUop), load(Memory::kInp),
      load(Memory::kWgt), {.opcode = Opcode::kGemm, .uop_end = 1, .iter_out = 1, .iter_in = 1},
      load(Memory::kOut), {.opcode = Opcode::kFinish}};
  for (size_t i = 0; i < 3; i++) stream[i].opcode = Opcode::kLoad;
  stream[4].opcode = Opcode::kStore;
  add_tokens({}, micro_ops, stream);
  std::string flags;
  for (const Instruction& i : stream)
    flags += cat(i.pop_prev ? "<" : "", i.pop_next ? ">" : "", i.push_prev ? "p" : "", i.push_next ? "n" : "",
                 ";");
  EXPECT_EQ(flags, ";;n;<n;<p;>;");
}

}  // namespace
}  // namespace relay::vta
