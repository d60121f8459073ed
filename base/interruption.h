// Interruption: what an interrupted program must not leave behind.
//
// SIGINT, SIGTERM and SIGHUP end a program where it stands, so its destructors do not run. What is
// registered here is removed all the same: temporary files and folders, and the processes that
// would go on writing into them.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <cstddef>
#include <string_view>

namespace relay {

// From now on those signals first remove what is registered, then end the program as they would
// have. A signal that is ignored stays so. For programs: a library has no say in what signals do.
// Once, in main().
void clean_up_when_interrupted();

// No such signal is delivered to this thread meanwhile, and one to another thread waits: for making
// something and registering it as one step.
class Uninterrupted {
 public:
  Uninterrupted();
  ~Uninterrupted();
  Uninterrupted(const Uninterrupted&) = delete;
  Uninterrupted& operator=(const Uninterrupted&) = delete;

  const sigset_t& before() const { return before_; }  // the signals that were blocked already

 private:
  sigset_t before_;
};

// Keeps something registered while it lives. There are places for some dozens; what finds none, or
// has a path that is too long, is left behind by an interruption.
class Fleeting {
 public:
  Fleeting() = default;
  ~Fleeting() { keep(); }
  Fleeting(const Fleeting&) = delete;
  Fleeting& operator=(const Fleeting&) = delete;

  void path(std::string_view path);  // a file, or a folder with all that is in it
  void processes(pid_t group);       // a process that leads a group of this number, and that group
  void keep();                       // no longer registered

 private:
  size_t place_ = 0;  // from 1
};

// Removes a file, or a folder with what is in it, up to eight folders deep. Takes no memory: for
// destructors, which must not fail, and for signal handlers. What cannot be removed stays.
void remove_without_memory(const char* path);

// Does not return if the program is being ended: for threads that would go on with what an
// interruption left them.
void stop_if_interrupted();

}  // namespace relay
