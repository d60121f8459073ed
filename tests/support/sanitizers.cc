// Options of the sanitizers. Their run-time libraries, where a build uses one, find these
// functions by name.
extern "C" const char* __tsan_default_suppressions() {
  // libtbb.so is not instrumented, so its synchronisation is unseen.
  return "race:tbb::detail\nrace:libtbb.so\ncalled_from_lib:libtbb.so\n";
}
extern "C" const char* __tsan_default_options() { return "halt_on_error=1"; }
// What is too large for memory is refused, as it is without the sanitizer.
extern "C" const char* __asan_default_options() {
  return "abort_on_error=1:detect_leaks=1:allocator_may_return_null=1";
}
extern "C" const char* __lsan_default_suppressions() { return "leak:libLLVM\n"; }
extern "C" const char* __ubsan_default_options() { return "print_stacktrace=1"; }
