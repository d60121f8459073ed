// Feeds mutated inputs to every reader: `./dev fuzz 60s`, or `bazel run //tests/fuzz -- --help`.
#include "tests/fuzz/command.h"

int main(int argc, char** argv) { return relay::fuzz::fuzz_command(argc, argv, relay::fuzz::readers()); }
