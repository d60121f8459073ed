// Loops that go from their end to their beginning (aot/alternation.h says why); part of the
// artifacts for CPUs (see interface.cc).

namespace {

// The pieces of one thread's range that change places; within a piece the loop goes forwards.
constexpr int64_t kPieces = 64;

struct BackwardLoop {
  int32_t (*body)(void*, int64_t, int64_t);
  void* closure;
};

int32_t run_range_backwards(void* loop, int64_t begin, int64_t end) {
  const BackwardLoop* backward = static_cast<const BackwardLoop*>(loop);
  const int64_t piece = (end - begin + kPieces - 1) / kPieces;
  int32_t failed = 0;
  while (end > begin) {
    const int64_t from = end - begin > piece ? end - piece : begin;
    const int32_t status = backward->body(backward->closure, from, end);
    // Of several failures the first iteration's counts, as forwards.
    if (status != 0) failed = status;
    end = from;
  }
  return failed;
}

int32_t run_backwards(void* self, int64_t extent, int32_t (*body)(void*, int64_t, int64_t), void* closure) {
  const relay_parallel* forwards = static_cast<const relay_parallel*>(self);
  BackwardLoop loop = {body, closure};
  return forwards->run(forwards->self, extent, run_range_backwards, &loop);
}

// The same loops backwards, spread over the same threads in the same way.
[[maybe_unused]] relay_parallel backwards_of(const relay_parallel* forwards) {
  return {sizeof(relay_parallel), const_cast<relay_parallel*>(forwards), run_backwards};
}

}  // namespace
