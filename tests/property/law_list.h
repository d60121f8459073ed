// The laws, one function each; laws.cc has the table.
#pragma once

#include "tests/property/laws.h"

namespace relay::property {

// laws_text.cc
std::string broken_text(const Program& p, ByteSource choices, Tally& tally);
std::string broken_determinism(const Program& p, ByteSource choices, Tally& tally);
std::string broken_copies(const Program& p, ByteSource choices, Tally& tally);
// laws_types.cc
std::string broken_types(const Program& p, ByteSource choices, Tally& tally);
std::string broken_annotations(const Program& p, ByteSource choices, Tally& tally);
std::string broken_mistakes(const Program& p, ByteSource choices, Tally& tally);
// laws_runs.cc
std::string broken_passes(const Program& p, ByteSource choices, Tally& tally);
std::string broken_pipelines(const Program& p, ByteSource choices, Tally& tally);
std::string broken_extents(const Program& p, ByteSource choices, Tally& tally);
std::string broken_jit(const Program& p, ByteSource choices, Tally& tally);
std::string broken_graph(const Program& p, ByteSource choices, Tally& tally);
std::string broken_aot(const Program& p, ByteSource choices, Tally& tally);
std::string broken_cuda(const Program& p, ByteSource choices, Tally& tally);
// laws_graphs.cc
std::string broken_written_graph(const Program& p, ByteSource choices, Tally& tally);

}  // namespace relay::property
