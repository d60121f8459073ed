// Instructions: what some machines do in one step, and blocks may name (Block::instruction).
//
// What an instruction does is written down as a kernel: one block in plain loops, whose buffers are
// the operands, each dense. A block that names an instruction has a body that does the same to
// pieces of its own buffers, each piece lying in memory as the operand does. Whoever has the
// instruction may use it on the addresses of the pieces (`operands_of`), and whoever has not, runs
// the body: there is nothing else to know.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kernel/kernel.h"

namespace relay::kernel {

struct Instruction {
  std::string_view name;                  // "vpdpbusd"
  Kernel (*description)(ExprPool& pool);  // inputs, then the one output, which it reads as well
};

std::span<const Instruction> instructions();
const Instruction* find_instruction(std::string_view name);  // null if there is none

// Where an operand of a description lies in the buffer that a statement accesses in its place.
struct Operand {
  const Buffer* operand = nullptr;  // of the description
  const Buffer* buffer = nullptr;
  std::vector<Expr> first;  // the indices of the operand's first element
  // The indices of any element, over `coordinates`: one variable for each dim of the operand.
  std::vector<Expr> at;
  std::vector<Expr> coordinates;
};

// Does a nest of loops around one store, or around a block with one, do what the description does,
// on other buffers? The loops must come in the same order and be of the same extents. Gives the
// operands in the order of the description's inputs and outputs, or nothing and the reason.
std::optional<std::vector<Operand>> match(const Kernel& description, Stmt nest, std::string& reason);

// Do the elements lie in the buffer's memory one after the other, as in the operand's?
bool is_contiguous(const Operand& o);

// The operands of a block that names an instruction, all contiguous; nothing and the reason if the
// block's body is not what the instruction does.
std::optional<std::vector<Operand>> operands_of(const Block& block, std::string& reason);

}  // namespace relay::kernel
