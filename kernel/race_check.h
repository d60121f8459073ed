// Race check: what the reference executor watches besides single accesses, see
// `check_races` in execute.h.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "kernel/kernel.h"

namespace relay::kernel {

// What happened to an element.
struct ElementHistory {
  int32_t writer = -1;    // the block that wrote it last
  bool updated = false;   // as a step of a reduction
  bool blank = false;     // it is a 0 that depends on nothing
  bool pending = false;   // and no other block has read it since
  bool taken = false;     // a block that does not go on with it has read it since the last beginning
  int64_t beginning = 0;  // the number of the last write that was no such step
  int32_t write_strand = -1;
  // Two iterations that read it, different ones if there were: whoever writes then is not both.
  int32_t read_strand = -1, other_read_strand = -1;

  void forget() { *this = {}; }
};

// The block that runs.
struct BlockState {
  int32_t number = 0;
  const Buffer* goes_on = nullptr;  // what it reads and writes, over a reduction
  bool in_init = false;
  bool blanks = false;  // it stores 0, whatever its iterators are
};

// Does the block do nothing but store a 0? It fills a tensor, of which others may
// then write any part.
bool stores_zero(const Block& b);
// What the block goes on with if it is a step of a reduction; null if it is none, or
// writes more than that.
const Buffer* goes_on_with(const Block& b);

class RaceCheck {
 public:
  explicit RaceCheck(const Kernel& k) : kernel_(k) {}

  // Where the executor keeps the value of an iterator.
  using Slots = std::function<const int64_t*(const BlockIter&)>;
  // What to call at each iteration of the block, or nothing: notes the values of its iterators, of
  // each by itself, and, if it goes on with a reduction in a tensor, of those that may be
  // independent together. What is summed up in a local buffer may be a part.
  std::function<void()> watch_values(const Block& b, const Slots& slot);
  // What to call before each step of a reduction that the block does, with the number of the
  // element and that of its `beginning`: gives false if the step was done before. `enclosing` are
  // the iterators of the blocks around.
  std::function<bool(int64_t, int64_t)> watch_steps(const Block& b,
                                                    const std::vector<const BlockIter*>& enclosing,
                                                    const Slots& slot);

  // Independent loops.
  int64_t enter_loop() { return ++activations_; }
  void enter_iteration(int64_t activation, int64_t iteration);
  void leave_iteration() { strand_ = strands_[index(strand_)].parent; }

  // Says what is wrong with an access, or nothing.
  std::string_view read(ElementHistory& e, const Buffer* of, const BlockState& by) const;
  std::string_view write(ElementHistory& e, const BlockState& by);

  std::string missing() const;  // at the end: what was not done; empty if all was

 private:
  // An iteration of an independent loop, within others.
  struct Strand {
    int32_t parent;
    int64_t activation, iteration, depth;
  };
  struct Steps {
    std::string block;
    int64_t all = 1;
    std::set<std::vector<int64_t>> seen;
  };
  struct Domain {
    std::string block;
    std::vector<std::string> names;
    std::vector<int64_t> extents;
    std::set<std::vector<int64_t>> seen;

    std::string hole() const;  // what was never run; empty if there is nothing
  };
  // A step of a reduction into the element, by the values of the iterators: false if it
  // was done before.
  bool is_new_step(const Buffer& sums, int64_t element, int64_t beginning, const std::vector<int64_t>& step);
  // The same step among those that these values of the spatial iterators need, whichever blocks do
  // them: in one buffer, or, if it is local, in any local ones, where blocks may add up parts of a
  // sum over the same extents.
  void count(const Buffer& sums, const std::string& block, const std::vector<int64_t>& extents,
             const std::vector<int64_t>& spatial, const std::vector<int64_t>& reduction);
  // Iterators that must take all of their values, those of each with those of the others. Blocks
  // that compute the same from the same tensors share a domain if they have iterators of the same
  // extents: `among` are all that are watched, and `chosen` says which of them are meant. Blocks
  // that contain others, which access what they do, have domains of their own.
  size_t domain_of(const Block& b, const std::vector<const BlockIter*>& among,
                   const std::vector<int64_t>& extents, const std::vector<size_t>& chosen);

  static size_t index(int32_t i) { return static_cast<size_t>(i); }
  bool conflict(int32_t a, int32_t b) const;  // are they different iterations of one loop?

  const Kernel& kernel_;
  int64_t activations_ = 0, beginnings_ = 0;
  int32_t strand_ = -1;
  std::vector<Strand> strands_;
  std::set<std::vector<int64_t>> done_;
  std::set<std::vector<int64_t>>
      open_;  // parts of sums in local buffers over these extents need not be complete
  std::map<std::vector<int64_t>, size_t> domain_by_key_;
  std::vector<Domain> domains_;
  // By buffer (or -1), the extents of the reduction, and the values of the spatial iterators.
  std::map<std::tuple<int64_t, std::vector<int64_t>, std::vector<int64_t>>, Steps> steps_;
};

// How many operations a race check of the kernel takes, memory that is set up included; nothing if
// that depends on a shape, is more than kMostRaceChecked, or what the kernel does is not known.
std::optional<int64_t> race_check_work(const Kernel& k);

}  // namespace relay::kernel
