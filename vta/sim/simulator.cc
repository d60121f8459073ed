#include "vta/sim/simulator.h"

#include <deque>
#include <random>

#include "base/cat.h"
#include "vta/sim/execute.h"
#include "vta/sim/legal.h"

namespace relay::vta {
namespace {

constexpr Engine kPreference[] = {Engine::kStore, Engine::kCompute, Engine::kLoad};

struct Token {
  Clock clock;         // of who pushed it
  uint32_t index = 0;  // the instruction that did
};

// One stream on its way through the engines.
class Run {
 public:
  Run(Executor& executor, const Queues& queues, const std::optional<uint64_t>& order)
      : executor_(executor), queues_(queues) {
    if (order) random_.emplace(*order);
  }

  std::optional<Refusal> run() {
    while (const std::optional<Engine> engine = choose()) {
      const uint32_t index = head(*engine);
      try {
        step(*engine, queues_.stream[index]);
      } catch (const Stop& stop) {
        return refusal(stop.slug, queues_.stream, index, stop.cause);
      }
    }
    if (std::optional<Refusal> stalled = stall()) return stalled;
    return leftover();
  }

 private:
  bool has_next(Engine e) const { return done_[e] < queues_.of(e).size(); }
  uint32_t head(Engine e) const { return queues_.of(e)[done_[e]]; }

  std::deque<Token>& tokens(Engine from, Engine to) {
    return tokens_[static_cast<size_t>(from)][static_cast<size_t>(to)];
  }

  // The engine that the head of this one waits for.
  std::optional<Engine> awaited(Engine e) {
    const Instruction& i = queues_.stream[head(e)];
    if (i.pop_prev && tokens(previous(e), e).empty()) return previous(e);
    if (i.pop_next && tokens(next(e), e).empty()) return next(e);
    return std::nullopt;
  }

  std::optional<Engine> choose() {
    std::vector<Engine> ready;
    for (const Engine e : kPreference) {
      if (has_next(e) && !awaited(e)) ready.push_back(e);
    }
    if (ready.empty()) return std::nullopt;
    return random_ ? ready[(*random_)() % ready.size()] : ready[0];
  }

  void pop(Engine from, Engine to) {
    const Token token = tokens(from, to).front();
    tokens(from, to).pop_front();
    Clock& mine = clock_[static_cast<size_t>(to)];
    for (size_t e = 0; e < kEngines; e++) mine.over[e] = std::max(mine.over[e], token.clock.over[e]);
  }

  void step(Engine e, const Instruction& i) {
    if (i.pop_prev) pop(previous(e), e);
    if (i.pop_next) pop(next(e), e);
    Clock& mine = clock_[static_cast<size_t>(e)];
    if (i.opcode == Opcode::kFinish) check_stores(mine);
    executor_.execute(i, {e, done_[e] + 1, mine});
    const uint32_t index = head(e);
    mine[e] = ++done_[e];
    if (i.push_prev) tokens(e, previous(e)).push_back({mine, index});
    if (i.push_next) tokens(e, next(e)).push_back({mine, index});
  }

  // After FINISH the host reads the results.
  void check_stores(const Clock& clock) const {
    const std::vector<uint32_t>& stores = queues_.of(Engine::kStore);
    for (size_t n = stores.size(); n > clock[Engine::kStore]; n--) {
      const Instruction& i = queues_.stream[stores[n - 1]];
      if (i.x_size && i.y_size)
        throw Stop{"vta-race",
                   cat("the host reads what ", queues_.name(Engine::kStore, static_cast<uint32_t>(n)),
                       " writes; no token orders the two")};
    }
  }

  // Who waits for whom, from the first instruction that did not run.
  std::optional<Refusal> stall() {
    std::optional<Engine> first;
    for (const Engine e : kPreference) {
      if (has_next(e) && (!first || head(e) < head(*first))) first = e;
    }
    if (!first) return std::nullopt;
    std::string cause = "it waits for a token of ";
    Engine at = *first;
    for (int k = 0; k < kEngines; k++) {
      const Engine other = *awaited(at);
      cause += cat("`", name_of(other), "`");
      if (!has_next(other)) {
        cause += ", which has no instructions left";
        break;
      }
      cause += cat(", whose ", queues_.name(other, done_[other] + 1), " waits");
      if (other == *first || k + 1 == kEngines) break;
      cause += " for a token of ";
      at = other;
    }
    return refusal("vta-stall", queues_.stream, head(*first), cause);
  }

  std::optional<Refusal> leftover() {
    std::optional<Refusal> first;
    for (const Engine from : kPreference) {
      for (const Engine to : kPreference) {
        if (tokens(from, to).empty()) continue;
        const uint32_t index = tokens(from, to).front().index;
        if (!first || index < first->index)
          first =
              refusal("vta-leftover", queues_.stream, index,
                      cat("nobody pops its token for `", name_of(to), "`, or one that was pushed before it"));
      }
    }
    return first;
  }

  Executor& executor_;
  const Queues& queues_;
  std::optional<std::mt19937_64> random_;
  Clock done_;                                                            // instructions that ran
  std::array<Clock, kEngines> clock_;                                     // what each engine knows
  std::array<std::array<std::deque<Token>, kEngines>, kEngines> tokens_;  // from, to
};

}  // namespace

class Simulator::Machine {
 public:
  Machine(const Layout& layout, const SimulatorOptions& options)
      : options(options),
        executor(layout, options.products ? *options.products : best_products(layout.params())) {}

  SimulatorOptions options;
  Executor executor;
};

Simulator::Simulator(const Layout& layout, const SimulatorOptions& options)
    : machine_(std::make_unique<Machine>(layout, options)) {}
Simulator::~Simulator() = default;
Simulator::Simulator(Simulator&&) noexcept = default;

const Layout& Simulator::layout() const { return machine_->executor.layout(); }
Dram& Simulator::dram() { return machine_->executor.dram(); }

Outcome Simulator::run(std::span<const Instruction> stream) {
  if (std::optional<Refusal> wrong = malformed(layout(), stream)) return {{}, std::move(wrong)};
  const Queues queues(stream);
  machine_->executor.begin(queues, machine_->options.most_operations);
  std::optional<Refusal> wrong = Run(machine_->executor, queues, machine_->options.order).run();
  return {machine_->executor.counters(), std::move(wrong)};
}

}  // namespace relay::vta
