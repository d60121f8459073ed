// Tasks: the steps of a memory plan, as recomputation sees them. A task reads values and writes
// values. An order runs each task once, or some of them several times.
//
// A value that is written again has several lives: each ends with the last read before the next
// write. So an order alone says what is kept and what is recomputed.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace relay::passes::rematerialise {

struct Task {
  std::vector<uint32_t> reads = {}, writes = {};  // values of tasks, each once
  uint64_t temporaries = 0;                       // bytes
  double cost = 0;                                // of a run, in any unit
  bool may_trap = false;                          // such tasks keep their order
  // Pairs of a written value and a read one whose memory it may have, if nobody reads that one any
  // more. The first pairs count: a value is replaced once.
  struct Replacement {
    uint32_t written, read;
  };
  std::vector<Replacement> replaces = {};
};

struct Tasks {
  std::vector<Task> all = {};        // in an order in which they may run
  std::vector<uint64_t> bytes = {};  // of values; 0: the memory is the caller's
};

using Order = std::vector<uint32_t>;  // places in Tasks::all

// Of each value the task that writes it.
std::vector<uint32_t> writers(const Tasks& tasks);
// May the task run again? What it gives the caller is written once.
bool may_repeat(const Tasks& tasks, const Task& task);

// The most bytes that are alive at once. Linear.
uint64_t peak(const Tasks& tasks, const Order& order);
// What the order costs beyond one run of each task.
double extra_cost(const Tasks& tasks, const Order& order);

// The tasks in another order, which is a permutation.
Tasks in_order(const Tasks& tasks, const Order& order);

// An order for gradients: the way back takes what the way there keeps from its end, as a tape does,
// and each task that frees no memory stands before its first reader. The way there is what one
// output of the caller's needs, the loss: an output of few tasks from which the others read many
// bytes. O(n log n).
Order as_tape(const Tasks& tasks);
// How many tasks belong to the way there; they come first in `as_tape`, but for
// those that may trap.
size_t way_there(const Tasks& tasks, std::vector<bool>& is_there);

// Runs the tasks in their order. Where memory would pass the limit, it forgets the value that costs
// the least to recompute by byte and by tasks until its next use, and recomputes it there (h =
// cost / (bytes * staleness) of Kirisame et al., "Dynamic Tensor Rematerialization", ICLR 2021; as
// the program is known, the staleness is the distance to the next use). Nothing if it needs more
// memory, or more than doubles the cost, or if `looks` are used up: each value or task that it
// looks at takes one of them away, so that programs of many tasks come to an end.
std::optional<Order> recompute_greedily(const Tasks& tasks, uint64_t limit, uint64_t& looks);

// Takes the first `there` tasks for a chain of stages, whose ends are where few bytes are alive,
// and the others for their ways back. Decides for each stage whether it is kept, or run again from
// an earlier end: at the least cost for what fits the limit, by dynamic programming (Beaumont et
// al., "Optimal checkpointing for heterogeneous chains", 2019, which extends Chen et al., "Training
// deep nets with sublinear memory cost", 2016). The least is that of orders which keep what they
// keep until it was used. Memory counts in 1/kSlots of the limit, rounded up.
// Nothing if nothing fits. O(s^3 * kSlots) for s stages, of which there are at most kMostStages.
inline constexpr uint32_t kSlots = 128, kMostStages = 64;
std::optional<Order> recompute_stages(const Tasks& tasks, size_t there, uint64_t limit);

}  // namespace relay::passes::rematerialise
