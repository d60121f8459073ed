// Which accesses are ordered: two engines may touch the same bytes, one of them writing, only if
// tokens order them.
//
// Each engine has a clock: how many instructions of each engine are known to be over. A token
// carries the clock of who pushed it, and who pops it knows as much from then on. So an access by
// instruction n of an engine is over for all whose clock of that engine is n or more. Which push a
// pop gets depends on the stream alone, and not on the order in which engines run: a stream without
// a race in one order has none in any, and gives one result.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "vta/isa/fields.h"

namespace relay::vta {

// Instructions of each engine that are over.
struct Clock {
  std::array<uint32_t, kEngines> over = {};

  uint32_t& operator[](Engine e) { return over[static_cast<size_t>(e)]; }
  uint32_t operator[](Engine e) const { return over[static_cast<size_t>(e)]; }
};

// The instruction that is executed: number `number` of its engine, counted from 1.
struct Access {
  Engine engine;
  uint32_t number;
  const Clock& clock;
};

// The other access of a race.
struct Race {
  Engine engine;
  uint32_t number;
  uint64_t place;  // element of a scratchpad, or address
};

// A scratchpad that one engine fills and another one reads. The reads of the engine that fills it
// are ordered by themselves.
class SharedPad {
 public:
  SharedPad(int64_t depth, Engine filler, Engine reader)
      : filler_(filler),
        reader_(reader),
        filled_(static_cast<size_t>(depth)),
        read_(static_cast<size_t>(depth)) {}
  void clear();

  // `for_each(touch)` calls touch(element) for each element. Returns the first race.
  template <class ForEach>
  std::optional<Race> fill(const Access& access, ForEach for_each) {
    return touch(filled_, read_, reader_, access, for_each);
  }
  template <class ForEach>
  std::optional<Race> read(const Access& access, ForEach for_each) {
    return touch(read_, filled_, filler_, access, for_each);
  }

 private:
  // Elements of `mine` are touched now, and what `theirs` has of them has to be over for that.
  template <class ForEach>
  static std::optional<Race> touch(std::vector<uint32_t>& mine, const std::vector<uint32_t>& theirs,
                                   Engine other, const Access& access, ForEach for_each) {
    const uint32_t over = access.clock[other], number = access.number;
    uint32_t* const now = mine.data();
    const uint32_t* const before = theirs.data();
    constexpr uint64_t kNone = ~uint64_t{0};
    uint64_t first = kNone;
    for_each([now, before, over, number, &first](uint64_t i) {
      now[i] = number;
      if (before[i] > over && first == kNone) first = i;
    });
    return first == kNone ? std::nullopt : std::optional(Race{other, before[first], first});
  }

  Engine filler_, reader_;
  std::vector<uint32_t> filled_, read_;  // by which instruction last; 0: by none
};

// DRAM: `store` writes it, and the other two read it. Only pages that a stream writes are watched.
class SharedDram {
 public:
  static constexpr uint64_t kPage = 4096;

  void clear();
  // Says that the stream writes there, before anything runs.
  void will_write(uint64_t address, uint64_t bytes);
  std::optional<Race> write(const Access& access, uint64_t address, uint64_t bytes);
  std::optional<Race> read(const Access& access, uint64_t address, uint64_t bytes);

 private:
  // Elements have at least four bytes, and lie at multiples of their size.
  static constexpr uint64_t kGranule = 4;
  using Page = std::array<Clock, kPage / kGranule>;  // by which instruction last

  Page* watched(uint64_t page);
  // Touches the bytes. What the engines `kOthers` did to them has to be over.
  template <Engine... kOthers>
  std::optional<Race> touch(const Access& access, uint64_t address, uint64_t bytes);

  std::unordered_set<uint64_t> written_;
  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;
};

}  // namespace relay::vta
