// Execution: the program as it runs under the debugger: where it stands, and how far it goes.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "interp/machine.h"
#include "tools/debug/breakpoints.h"
#include "tools/debug/program.h"

namespace relay::tools::debug {

using Frame = std::shared_ptr<const interp::Machine::Frame>;

class Execution {
 public:
  enum class State {
    kStart,      // of the function of place(), whose first expression place().e is
    kBefore,     // place().e is about to do what it does: its operands have their values
    kValue,      // it evaluated to value()
    kEnded,      // value() is the program's
    kTrapped,    // place().e failed, message() says why
    kExhausted,  // likewise, of a limit
  };
  // One frame of the backtrace: the expression that is evaluated in an activation now.
  struct Place {
    Expr e = nullptr;
    Frame frame;
    const Fn* fn() const { return frame ? frame->fn : nullptr; }
  };
  // Sees every expression that evaluates to a value, and the value; true stops there.
  using Observe = std::function<bool(Expr e, const Value& v)>;

  // `interrupt`, if any, stops the program at the next expression when it becomes true, and is
  // then made false.
  Execution(const Program& program, std::string function, std::vector<Value> args, interp::Options limits,
            Breakpoints& breakpoints, std::atomic<bool>* interrupt);

  void restart();

  // Each goes on until it is where it says, a breakpoint stops it, or the program ends or fails.
  void step();                      // to the next expression or value
  void next();                      // over the expression at hand; over calls when it has its value
  void finish(const Place& frame);  // until the frame's function returns
  void go();
  void watch(const Observe& observe);  // to the end, or where `observe` says; breakpoints do not count

  State state() const { return state_; }
  bool over() const { return state_ > State::kValue; }
  const Place& place() const { return place_; }
  const Value& value() const { return value_; }  // as long as the program stands there
  const std::string& message() const { return message_; }
  const Breakpoint* breakpoint() const { return breakpoint_; }  // that stopped it; null if none did
  bool interrupted() const { return interrupted_; }

  // The innermost frames, at most `most` of them, and how many there are.
  std::vector<Place> frames(size_t most, size_t& count) const;
  // What the text binds by `%n = e` in a frame, where it was evaluated already.
  const Value* kept(const Frame& frame, Expr e) const;

 private:
  // What the last step of the machine did.
  struct Happened {
    Place by;              // the expression that the step was about
    bool known = false;    // and which had its value before
    bool entered = false;  // an activation of a function
  };
  // One state of the machine may be two things to see, in this order.
  enum class Seen {
    kStart,  // an activation was entered
    kStep,   // what the last step did: an expression descends, or a value returns
    kReady,  // the value is the last operand of the expression that takes it
  };
  struct Kept {
    std::weak_ptr<const interp::Machine::Frame> frame;
    std::unordered_map<Expr, Value> values;
  };

  template <class Stops>
  void run(Stops stops, bool with_breakpoints = true);
  bool move();
  bool step_machine();
  void fail(State state, const char* message);
  bool at_breakpoint();
  bool stop_at_start();
  bool stop_before(Expr e, const Frame& frame);
  bool stop_with(Expr e, const Frame& frame);
  bool stop_at_any();
  void keep();
  size_t depth_without_own() const;          // contexts that wait for the expression at hand
  size_t base_of(const Frame& frame) const;  // and for the frame to return
  interp::Machine::Waiting waiting() const;  // what the value at hand returns to

  const Program& program_;
  std::string function_;
  std::vector<Value> args_;
  Breakpoints& breakpoints_;
  std::atomic<bool>* interrupt_;
  interp::Options limits_;
  std::optional<interp::Machine> machine_;

  State state_ = State::kBefore;
  Place place_;
  Value value_;
  std::string message_;
  const Breakpoint* breakpoint_ = nullptr;
  bool interrupted_ = false;
  Happened last_;
  Seen seen_ = Seen::kStart;
  std::unordered_map<const interp::Machine::Frame*, Kept> kept_;
  size_t purge_at_ = 64;
};

}  // namespace relay::tools::debug
