#include "vta/sim/cycles.h"

#include <algorithm>
#include <deque>
#include <iterator>

#include "base/cat.h"
#include "base/integers.h"
#include "vta/sim/legal.h"

namespace relay::vta {
namespace {

constexpr TimingRow kRows[] = {
    {"bus-bytes", &Timing::bus_bytes, 1, 4096, "bytes of a beat"},
    {"read-ports", &Timing::read_ports, 1, 64, "beats of reads in a cycle"},
    {"read-latency", &Timing::read_latency, 0, 1000000, "cycles from a request to its first beat"},
    {"write-latency", &Timing::write_latency, 0, 1000000, "cycles from the last beat until it is written"},
    {"loads-in-flight", &Timing::loads_in_flight, 1, 1024,
     "LOADs of the engine `load` that have begun and not ended"},
    {"gemm-latency", &Timing::gemm_latency, 0, 1000000, "cycles until GEMM's first micro-op is over"},
    {"gemm-interval", &Timing::gemm_interval, 1, 1000, "cycles from one micro-op of GEMM to the next"},
    {"alu-latency", &Timing::alu_latency, 0, 1000000, "cycles until ALU's first micro-op is over"},
    {"alu-interval", &Timing::alu_interval, 1, 1000, "cycles from one micro-op of ALU to the next"},
    {"alu-imm-interval", &Timing::alu_imm_interval, 1, 1000, "the same where the right operand is `imm`"},
    {"queue-length", &Timing::queue_length, 1, 1000000, "instructions that the queue of an engine holds"},
};

uint64_t cycles(int64_t n) { return static_cast<uint64_t>(n); }

class Model {
 public:
  Model(const Params& params, std::span<const Instruction> stream, const Timing& timing)
      : params_(params), stream_(stream), t_(timing), ports_(static_cast<size_t>(timing.read_ports), 0) {
    out_.times.resize(stream.size());
  }

  Cycles run() {
    while (true) {
      // The next event: times never go back, since what begins now has effects later only.
      std::optional<uint64_t> first = fetch_time();
      std::optional<Engine> engine;
      for (const Engine e : kAllEngines) {
        const std::optional<uint64_t> at = begin_time(e);
        if (at && (!first || *at < *first)) first = at, engine = e;
      }
      if (!first) break;
      engine ? execute(*engine) : fetch(*first);
    }
    if (std::optional<size_t> stuck = first_stuck())
      out_.refusal = refusal("vta-stall", stream_, *stuck, stall_cause());
    for (const Times& times : out_.times) out_.total = std::max(out_.total, times.end);
    return std::move(out_);
  }

 private:
  struct Unit {
    std::deque<uint32_t> queue;    // fetched, and not begun
    uint64_t free = 0;             // when it can take the next instruction
    std::deque<uint64_t> flights;  // ends of LOADs that have begun
    uint64_t room_since = 0;       // when the queue got room by a begin; 0: it has not since the last fetch
  };
  Unit& unit(Engine e) { return units_[static_cast<size_t>(e)]; }
  std::deque<uint64_t>& tokens(Engine from, Engine to) {
    return tokens_[static_cast<size_t>(from)][static_cast<size_t>(to)];
  }

  // --- fetch

  std::optional<uint64_t> fetch_time() {
    if (fetched_ == stream_.size()) return std::nullopt;
    Unit& to = unit(engine_of(stream_[fetched_]));
    const bool room = to.queue.size() < cycles(t_.queue_length);
    if (!room) return std::nullopt;
    const uint64_t beats = cycles(ceil_div(kInstructionBytes, t_.bus_bytes));
    const uint64_t stream = fetched_ == 0 ? cycles(t_.read_latency) + beats : fetch_free_ + beats;
    // A place that was taken is free when the instruction in it begins.
    return std::max(stream, to.room_since);
  }

  void fetch(uint64_t at) {
    const auto index = static_cast<uint32_t>(fetched_++);
    fetch_free_ = at;
    out_.times[index].fetched = at;
    Unit& to = unit(engine_of(stream_[index]));
    to.queue.push_back(index);
    to.room_since = 0;
  }

  // --- engines

  // When the head of the queue has all that it waits for, but for a port.
  std::optional<uint64_t> begin_time(Engine e) {
    Unit& u = unit(e);
    if (u.queue.empty()) return std::nullopt;
    const Instruction& i = stream_[u.queue.front()];
    if (i.pop_prev && tokens(previous(e), e).empty()) return std::nullopt;
    if (i.pop_next && tokens(next(e), e).empty()) return std::nullopt;
    uint64_t at = std::max(u.free, out_.times[u.queue.front()].fetched);
    if (i.pop_prev) at = std::max(at, tokens(previous(e), e).front());
    if (i.pop_next) at = std::max(at, tokens(next(e), e).front());
    return at;
  }

  // Adds to `wait` how much later `until` is than `now`, and moves `now` there.
  static void wait_for(uint64_t until, uint64_t& now, uint64_t& wait) {
    if (until <= now) return;
    wait += until - now;
    now = until;
  }

  void execute(Engine e) {
    Unit& u = unit(e);
    const uint32_t index = u.queue.front();
    u.queue.pop_front();
    const Instruction& i = stream_[index];
    Waits& waits = out_.waits[static_cast<size_t>(e)];
    Times& times = out_.times[index];
    uint64_t now = u.free;
    wait_for(times.fetched, now, waits.fetch);
    if (i.pop_prev) wait_for(take(previous(e), e), now, waits.prev);
    if (i.pop_next) wait_for(take(next(e), e), now, waits.next);
    u.room_since = now;
    run(e, i, now, times);
    out_.busy[static_cast<size_t>(e)] += u.free - times.begin;
    if (i.push_prev) tokens(e, previous(e)).push_back(times.end);
    if (i.push_next) tokens(e, next(e)).push_back(times.end);
  }

  uint64_t take(Engine from, Engine to) {
    const uint64_t at = tokens(from, to).front();
    tokens(from, to).pop_front();
    return at;
  }

  // Sets begin and end, and when the engine is free.
  void run(Engine e, const Instruction& i, uint64_t now, Times& times) {
    Unit& u = unit(e);
    times.begin = now;
    const bool moves = (i.opcode == Opcode::kLoad || i.opcode == Opcode::kStore) && i.x_size > 0;
    if (moves && i.opcode == Opcode::kLoad) return load(e, i, now, times);
    if (moves) {
      times.end = now + beats(i) + cycles(t_.write_latency);
    } else if (i.opcode == Opcode::kGemm || i.opcode == Opcode::kAlu) {
      times.end = now + loop(i);
    } else {
      times.end = now + 1;  // it only passes tokens on
    }
    u.free = times.end;
  }

  void load(Engine e, const Instruction& i, uint64_t now, Times& times) {
    Unit& u = unit(e);
    uint64_t& port = *std::min_element(ports_.begin(), ports_.end());
    wait_for(port, now, out_.waits[static_cast<size_t>(e)].port);
    times.begin = now;
    port = now + beats(i);
    const uint64_t zeros = cycles(padded_rows(i) * padded_columns(i)) - uint64_t{i.y_size} * i.x_size;
    times.end = port + cycles(t_.read_latency) + zeros;
    // `compute` uses what it has loaded without waiting for a token.
    const int64_t in_flight = e == Engine::kLoad ? t_.loads_in_flight : 1;
    u.flights.push_back(times.end);
    u.free = port;
    while (static_cast<int64_t>(u.flights.size()) >= in_flight) {
      u.free = std::max(u.free, u.flights.front());
      u.flights.pop_front();
    }
  }

  // Beats of all rows; rows without a gap between are one.
  uint64_t beats(const Instruction& i) {
    const int64_t element = params_.dram_bytes(i.memory), bytes = element * i.x_size * i.y_size;
    out_.bytes[static_cast<size_t>(i.memory)] += cycles(bytes);
    if (i.x_stride == i.x_size) return cycles(ceil_div(bytes, t_.bus_bytes));
    return cycles(i.y_size * ceil_div(element * i.x_size, t_.bus_bytes));
  }

  uint64_t loop(const Instruction& i) {
    const uint64_t count = micro_ops_run(i);
    if (i.opcode == Opcode::kGemm) {
      if (!i.reset) out_.gemm += count;
      return cycles(t_.gemm_latency) + count * cycles(t_.gemm_interval);
    }
    out_.alu += count;
    return cycles(t_.alu_latency) + count * cycles(i.use_imm ? t_.alu_imm_interval : t_.alu_interval);
  }

  // --- stalls

  std::optional<size_t> first_stuck() {
    std::optional<size_t> first;
    for (const Engine e : kAllEngines) {
      if (!unit(e).queue.empty())
        first = std::min<size_t>(first.value_or(stream_.size()), unit(e).queue.front());
    }
    return first;
  }

  std::string stall_cause() const {
    if (fetched_ == stream_.size()) return "it waits for a token that nobody pushes";
    return cat("it waits for a token, and the instructions behind it wait for room in the queue of `",
               name_of(engine_of(stream_[fetched_])), "`, which holds ", t_.queue_length);
  }

  const Params& params_;
  std::span<const Instruction> stream_;
  const Timing& t_;
  Cycles out_;
  size_t fetched_ = 0;
  uint64_t fetch_free_ = 0;
  std::array<Unit, kEngines> units_;
  std::array<std::array<std::deque<uint64_t>, kEngines>, kEngines> tokens_;  // from, to: when they came
  std::vector<uint64_t> ports_;                                              // when each is free
};

}  // namespace

std::span<const TimingRow> timing_rows() { return kRows; }

bool check_timing(const Timing& timing, Diagnostics& d) { return check_ranges(timing_rows(), timing, d); }

Cycles count_cycles(const Layout& layout, std::span<const Instruction> stream, const Timing& timing) {
  Cycles out;
  out.refusal = malformed(layout, stream);
  if (out.refusal) return out;
  return Model(layout.params(), stream, timing).run();
}

}  // namespace relay::vta
