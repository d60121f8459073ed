// The laws, one function each; laws.cc has the table.
#pragma once

#include <exception>

#include "tests/property/laws.h"
#include "tests/property/run.h"

namespace relay::property {

// What a law says of a program that it met such an exception with.
std::string unexpected(const std::exception& e);
// Counts how the run ended.
void count(const Run& want, Tally& tally);

// laws_text.cc
std::string broken_text(const Program& p, ByteSource choices, Tally& tally);
std::string broken_determinism(const Program& p, ByteSource choices, Tally& tally);
std::string broken_copies(const Program& p, ByteSource choices, Tally& tally);
// laws_types.cc
std::string broken_types(const Program& p, ByteSource choices, Tally& tally);
std::string broken_annotations(const Program& p, ByteSource choices, Tally& tally);
std::string broken_mistakes(const Program& p, ByteSource choices, Tally& tally);
// laws_runs.cc
std::vector<std::string> every_pass();   // what is counted where a program is compared after a pass
std::vector<std::string> every_level();  // ... where the whole of a level was run
std::string broken_passes(const Program& p, ByteSource choices, Tally& tally);
std::string broken_pipelines(const Program& p, ByteSource choices, Tally& tally);
std::string broken_extents(const Program& p, ByteSource choices, Tally& tally);
// laws_engines.cc
inline constexpr uint32_t kMostThreads = 3;
// Counted where a program with loops that threads share gave the bits of one thread on several.
inline constexpr const char* kOnThreads = "on several threads";
std::vector<std::string> on_threads();
std::string broken_jit(const Program& p, ByteSource choices, Tally& tally);
std::string broken_graph(const Program& p, ByteSource choices, Tally& tally);
std::string broken_artifact(const Program& p, ByteSource choices, Tally& tally);
// laws_artifacts.cc
std::vector<std::string> broken_aot(std::span<Asked> asked, Tally& tally);
std::vector<std::string> broken_cuda(std::span<Asked> asked, Tally& tally);
// laws_gradients.cc
std::vector<std::string> gradient_demands();
std::string broken_gradient(const Program& p, ByteSource choices, Tally& tally);
// laws_graphs.cc
std::string broken_written_graph(const Program& p, ByteSource choices, Tally& tally);

}  // namespace relay::property
