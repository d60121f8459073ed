// The readers that are fed with mutated inputs: everything of ours that reads what others
// may have written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/mutate.h"

namespace relay::fuzz {

// Of one input. Sanitizers reserve address space without end, so with them there is no
// limit on memory.
struct InputLimits {
  uint64_t memory_mib = 512;
  unsigned cpu_seconds = 2;
};

// How reading ended.
struct Outcome {
  enum class Kind {
    kAccepted,   // of a program that is run: it gave a value
    kRefused,    // with diagnostics
    kTrapped,    // it ran, and failed
    kNotRun,     // it checks, but is so large that it is not run, or nothing can be made that it takes
    kExhausted,  // a limit was reached
    kWrong,      // none of these
  };
  Kind kind = Kind::kAccepted;
  std::string text = {};  // the diagnostics, or what is wrong
};

struct Reader {
  std::string name;
  // Sound inputs; the first call makes them.
  const Seeds& (*seeds)();
  // Injures a seed so that its outer structure stays sound.
  std::string (*mutate)(const std::string& seed, const Seeds& seeds, Random& random);
  Outcome (*read)(std::string_view bytes);
  bool bytes = true;  // are bytes changed, too, or only what `mutate` changes?
  InputLimits limits = {};
};

const std::vector<Reader>& readers();
const Reader* find_reader(std::string_view name);  // null if there is none

// Mutation `index` of a campaign: the same bytes for the same three.
std::string mutation(const Reader& reader, uint64_t seed, uint64_t index);

// The seeds, by the name of the reader.
const Seeds& program_seeds();
const Seeds& kernel_seeds();
const Seeds& metadata_seeds();
const Seeds& pattern_seeds();
const Seeds& npy_seeds();
const Seeds& npz_seeds();
const Seeds& safetensors_seeds();
const Seeds& tensor_seeds();
const Seeds& model_seeds();
const Seeds& params_seeds();
const Seeds& graph_seeds();
const Seeds& function_seeds();  // each function of the tests' programs, with what it calls
const Seeds& runnable_model_seeds();

// A zip archive of the entries, compressed or not.
std::string archive_of(const std::vector<std::pair<std::string, std::string>>& entries, bool compressed);

}  // namespace relay::fuzz
