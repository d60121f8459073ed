// How compiled code calculates with floats: are denormals kept, or taken for 0 (docs/semantics.md,
// "Denormals")? It rounds to the nearest number and raises no signal, whatever its caller has set.
//
// A thread's control word decides. This file is part of artifacts too, as text: it is C++17 and
// needs nothing of ours.
#ifndef RELAY_RUNTIME_DENORMALS_H_
#define RELAY_RUNTIME_DENORMALS_H_

#include <stdint.h>

namespace relay {

enum class Denormals : uint8_t {
  kFlush,  // a denormal operand counts as 0 of its sign, and a denormal result becomes one
  kKeep,   // they are numbers like others
};

// Of the control word: the bits that flush; those that are ours to say while compiled code runs;
// and what these are otherwise: round to the nearest, no exception is a signal.
#if defined(__x86_64__)
constexpr uint64_t kFlushBits = 0x8040;                     // MXCSR: flush to zero, and denormals are zeros
constexpr uint64_t kOurBits = 0xffc0, kUsualBits = 0x1f80;  // all but the flags; exceptions are masked
#elif defined(__aarch64__)
constexpr uint64_t kFlushBits = uint64_t{1} << 24;        // FPCR.FZ, which is for operands and results
constexpr uint64_t kOurBits = 0x1c09f00, kUsualBits = 0;  // with RMode, and the bits that enable traps
#else
#error "which control word flushes denormals here?"
#endif

// The control word of this thread. Nothing that reads or writes memory moves past these two.
//
// By builtins: GCC writes the name of the source file in front of the assembler of a function, as
// it is, and a file may be called anything. The assembler of clang is part of it.
inline uint64_t control_word() {
#if defined(__x86_64__)
  return __builtin_ia32_stmxcsr();
#elif defined(__clang__)
  uint64_t word;
  asm volatile("mrs %0, fpcr" : "=r"(word) : : "memory");
  return word;
#else
  return __builtin_aarch64_get_fpcr();
#endif
}
inline void set_control_word(uint64_t word) {
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
#if defined(__x86_64__)
  __builtin_ia32_ldmxcsr(static_cast<uint32_t>(word));
#elif defined(__clang__)
  asm volatile("msr fpcr, %0" : : "r"(word) : "memory");
#else
  __builtin_aarch64_set_fpcr(static_cast<uint32_t>(word));
#endif
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

inline uint64_t with_denormals(uint64_t word, Denormals denormals) {
  return (word & ~kOurBits) | kUsualBits | (denormals == Denormals::kFlush ? kFlushBits : 0);
}

// What this thread does with them now.
inline Denormals denormals_here() {
  return (control_word() & kFlushBits) != 0 ? Denormals::kFlush : Denormals::kKeep;
}

// While it lives, this thread keeps or flushes denormals, rounds to the nearest, and gets no signal
// from arithmetic; then the control word is what it was. To write the word waits for arithmetic at
// work, so a scope inside of another like it writes nothing.
class DenormalsScope {
 public:
  explicit DenormalsScope(Denormals denormals) : before_(control_word()) {
    const uint64_t wanted = with_denormals(before_, denormals);
    changed_ = wanted != before_;
    if (changed_) set_control_word(wanted);
  }
  ~DenormalsScope() {
    if (changed_) set_control_word(before_);
  }
  DenormalsScope(const DenormalsScope&) = delete;
  DenormalsScope& operator=(const DenormalsScope&) = delete;

 private:
  uint64_t before_;
  bool changed_;
};

}  // namespace relay

#endif  // RELAY_RUNTIME_DENORMALS_H_
