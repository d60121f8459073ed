// The machine's steps, and which of them a person wants to see.
//
// After a step either an expression is about to descend, or a value returns: then the step's
// expression made it, and the innermost pending context waits for it as the value of its operand.
// The two are the same unless the first stands in tail position, where it leaves nothing behind:
// `add` at the end of @f makes the value of the call of @f.
//
// A person wants to see an expression when its operands have their values, and it is about to
// use them: then there is something to look at, and what is shown follows the order of the
// text. So a value that returns may be two events: it was made, and it was the last that an
// expression waited for.
#include "tools/debug/execution.h"

#include <new>

#include "base/cat.h"
#include "base/failure.h"

namespace relay::tools::debug {
namespace {

// Others are come to with their last operand.
bool is_come_to_as_it_descends(Expr e) {
  const auto* tuple = e->as<Tuple>();
  return quiet(e) || decides(e) || (tuple && tuple->fields.empty());
}

}  // namespace

Execution::Execution(const Program& program, std::string function, std::vector<Value> args,
                     interp::Options limits, Breakpoints& breakpoints, std::atomic<bool>* interrupt)
    : program_(program),
      function_(std::move(function)),
      args_(std::move(args)),
      breakpoints_(breakpoints),
      interrupt_(interrupt),
      limits_(std::move(limits)) {
  restart();
}

void Execution::restart() {
  kept_.clear();
  last_ = {};
  place_ = {};
  value_ = {};
  message_.clear();
  breakpoint_ = nullptr;
  interrupted_ = false;
  seen_ = Seen::kStart;
  machine_.emplace(program_.module(), limits_);
  try {
    machine_->start(function_, args_);
    stop_at_start();
  } catch (const Trap& trap) {
    fail(State::kTrapped, trap.what());
  } catch (const Exhausted& limit) {
    fail(State::kExhausted, limit.what());
  }
}

// --- steps ---------------------------------------------------------------------------------------

// To the next event. False if the program is over.
bool Execution::move() {
  if (seen_ == Seen::kStart) {
    seen_ = Seen::kStep;
    return true;
  }
  if (seen_ == Seen::kStep && machine_->now().last) {
    seen_ = Seen::kReady;
    return true;
  }
  if (!step_machine()) return false;
  seen_ = last_.entered ? Seen::kStart : Seen::kStep;
  return true;
}

bool Execution::step_machine() {
  const interp::Machine::Now now = machine_->now();
  if (now.e) {
    last_.by.e = now.e;
    // The frame outlives the step, which may be the last that needs it: a failure shows it.
    if (last_.by.frame != *now.env) last_.by.frame = *now.env;
    last_.known = !now.value && !now.shared && !quiet(now.e) && (*now.env)->values.contains(now.e);
  }
  try {
    if (!machine_->advance()) {
      state_ = State::kEnded;
      value_ = *machine_->now().value;
      return false;
    }
  } catch (const Trap& trap) {
    fail(State::kTrapped, trap.what());
    return false;
  } catch (const Exhausted& limit) {
    fail(State::kExhausted, limit.what());
    return false;
  } catch (const std::bad_alloc&) {
    fail(State::kExhausted, "there is not enough memory for this");
    return false;
  }
  const interp::Machine::Now then = machine_->now();
  last_.entered = !then.value && *then.env != last_.by.frame;
  if (then.value) keep();
  return true;
}

void Execution::fail(State state, const char* message) {
  state_ = state;
  message_ = message;
  place_ = last_.by;
  value_ = {};
}

interp::Machine::Waiting Execution::waiting() const {
  return machine_->depth() > 0 ? machine_->waiting(machine_->depth() - 1) : interp::Machine::Waiting();
}

template <class Stops>
void Execution::run(Stops stops, bool with_breakpoints) {
  if (over()) return;
  breakpoint_ = nullptr;
  interrupted_ = false;
  while (move()) {
    if (with_breakpoints && at_breakpoint()) return;
    if (seen_ == Seen::kStart) continue;  // only a breakpoint stops there
    if (interrupt_ && interrupt_->load(std::memory_order_relaxed) && stop_at_any()) {
      interrupt_->store(false);
      interrupted_ = true;
      return;
    }
    if (stops()) return;
  }
}

// --- where to stop -------------------------------------------------------------------------------

bool Execution::stop_at_start() {
  const interp::Machine::Now now = machine_->now();
  if (now.value) {  // of a kernel: there is nothing to step through
    state_ = State::kEnded;
    value_ = *now.value;
    return true;
  }
  state_ = State::kStart;
  place_ = {now.e, *now.env};
  value_ = {};
  return true;
}

bool Execution::stop_before(Expr e, const Frame& frame) {
  state_ = State::kBefore;
  place_ = {e, frame};
  value_ = {};
  return true;
}

bool Execution::stop_with(Expr e, const Frame& frame) {
  state_ = State::kValue;
  place_ = {e, frame};
  value_ = *machine_->now().value;
  return true;
}

// At whatever is worth a look.
bool Execution::stop_at_any() {
  const interp::Machine::Now now = machine_->now();
  if (seen_ == Seen::kReady) return stop_before(now.e, *now.env);
  if (!now.value) {
    if (quiet(now.e) || !is_come_to_as_it_descends(now.e)) return false;
    if (!now.shared && (*now.env)->values.contains(now.e)) return false;
    return stop_before(now.e, *now.env);
  }
  if (!quiet(last_.by.e) && !last_.known) return stop_with(last_.by.e, last_.by.frame);
  const auto k = waiting();
  if (!k.e || quiet(k.operand) || k.operand == last_.by.e) return false;
  return stop_with(k.operand, *k.env);
}

void Execution::step() {
  run([&] { return stop_at_any(); });
}

void Execution::next() {
  if (over()) return;
  if (state_ == State::kBefore && !decides(place_.e)) {
    const Place place = place_;
    const size_t without = depth_without_own();
    return run([&] {
      if (seen_ == Seen::kReady || !machine_->now().value || machine_->depth() > without) return false;
      return stop_with(place.e, place.frame);
    });
  }
  // What the activation at hand does next, or what comes after it has returned.
  Frame current = place_.frame;
  size_t base = base_of(current);
  if (state_ == State::kValue && base == machine_->depth() && base > 0) {
    current = *waiting().env;
    base = base_of(current);
  }
  run([&] {
    const interp::Machine::Now now = machine_->now();
    if (seen_ == Seen::kReady || !now.value) {
      const size_t without = depth_without_own();
      return (*now.env == current || without < base) && stop_at_any();
    }
    if (last_.by.frame == current) return stop_at_any();
    const auto k = waiting();
    if (!k.e || quiet(k.operand) || k.operand == last_.by.e) return false;
    return (*k.env == current || machine_->depth() <= base) && stop_with(k.operand, *k.env);
  });
}

void Execution::finish(const Place& frame) {
  if (over()) return;
  const size_t base = base_of(frame.frame);
  const auto returned = [&] {
    if (seen_ == Seen::kReady || !machine_->now().value || machine_->depth() > base) return false;
    const auto k = waiting();
    return k.e && stop_with(k.operand, *k.env);  // otherwise the program ends
  };
  // The value at hand may be what the function returns already.
  if (state_ == State::kValue && place_.frame == frame.frame && machine_->depth() == base && returned()) {
    breakpoint_ = nullptr;
    return;
  }
  run(returned);
}

void Execution::go() {
  run([] { return false; });
}

void Execution::watch(const Observe& observe) {
  run(
      [&] {
        const interp::Machine::Now now = machine_->now();
        if (seen_ == Seen::kReady || !now.value || last_.known || quiet(last_.by.e) ||
            !observe(last_.by.e, *now.value))
          return false;
        return stop_with(last_.by.e, last_.by.frame);
      },
      /*with_breakpoints=*/false);
}

bool Execution::at_breakpoint() {
  if (breakpoints_.all().empty()) return false;
  const interp::Machine::Now now = machine_->now();
  if (seen_ == Seen::kStart) {
    breakpoint_ = breakpoints_.entered((*now.env)->fn);
    return breakpoint_ && stop_at_start();
  }
  if (seen_ == Seen::kReady) {
    breakpoint_ = breakpoints_.before(now.e);
    return breakpoint_ && stop_before(now.e, *now.env);
  }
  if (!now.value) {
    if (is_come_to_as_it_descends(now.e) && (now.shared || !(*now.env)->values.contains(now.e)))
      breakpoint_ = breakpoints_.before(now.e);
    return breakpoint_ && stop_before(now.e, *now.env);
  }
  const Value& v = *now.value;
  if (!last_.known) {
    breakpoint_ = breakpoints_.value_of(last_.by.e, v);
    if (breakpoint_) return stop_with(last_.by.e, last_.by.frame);
  }
  const auto k = waiting();
  if (k.e && k.operand != last_.by.e) {
    breakpoint_ = breakpoints_.value_of(k.operand, v);
    if (breakpoint_) return stop_with(k.operand, *k.env);
  }
  if (!k.e || *k.env != last_.by.frame) {
    breakpoint_ = breakpoints_.returned(last_.by.fn(), v);
    if (breakpoint_) return stop_with(last_.by.e, last_.by.frame);
  }
  return false;
}

// --- looking around ------------------------------------------------------------------------------

size_t Execution::depth_without_own() const { return machine_->depth() - (seen_ == Seen::kReady ? 1 : 0); }

size_t Execution::base_of(const Frame& frame) const {
  const auto is_of_frame = [&](size_t i) { return *machine_->waiting(i).env == frame; };
  size_t depth = machine_->depth();
  while (depth > 0 && !is_of_frame(depth - 1)) --depth;  // the frames that it has called
  // What waits for nothing is the innermost frame, or has just returned.
  if (depth == 0) return machine_->depth();
  while (depth > 0 && is_of_frame(depth - 1)) --depth;
  return depth;
}

std::vector<Execution::Place> Execution::frames(size_t most, size_t& count) const {
  std::vector<Place> out;
  count = 0;
  const interp::Machine::Frame* last = nullptr;
  const auto add = [&](Expr e, const Frame& frame) {
    if (frame.get() == last) return;
    last = frame.get();
    if (++count <= most) out.push_back({e, frame});
  };
  if (state_ == State::kEnded) return out;
  if (place_.e) add(place_.e, place_.frame);
  for (size_t i = machine_->depth(); i-- > 0;) {
    const auto k = machine_->waiting(i);
    if (k.env->get() != last) add(k.operand, *k.env);
  }
  return out;
}

// The machine forgets a value that is used once; the text has a name for it, so the user may ask.
void Execution::keep() {
  const Value& v = *machine_->now().value;
  const auto remember = [&](const Frame& frame, Expr e) {
    if (!program_.names().given_by(e) || frame->values.contains(e)) return;
    Kept& kept = kept_[frame.get()];
    if (kept.frame.lock() != frame) kept = {frame, {}};  // of an activation that lived at the same address
    kept.values[e] = v;
  };
  if (!last_.known && !quiet(last_.by.e)) remember(last_.by.frame, last_.by.e);
  const auto k = waiting();
  if (k.e && k.operand != last_.by.e && !quiet(k.operand)) remember(*k.env, k.operand);
  if (kept_.size() < purge_at_) return;
  // Loops must not leave a trail of activations that are gone.
  std::erase_if(kept_, [](const auto& entry) { return entry.second.frame.expired(); });
  purge_at_ = 2 * kept_.size() + 64;
}

const Value* Execution::kept(const Frame& frame, Expr e) const {
  if (!frame) return nullptr;
  if (const auto it = frame->values.find(e); it != frame->values.end()) return &it->second;
  const auto known = kept_.find(frame.get());
  if (known == kept_.end() || known->second.frame.lock() != frame) return nullptr;
  const auto it = known->second.values.find(e);
  return it == known->second.values.end() ? nullptr : &it->second;
}

}  // namespace relay::tools::debug
