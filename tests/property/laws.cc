#include "tests/property/laws.h"

#include <exception>

#include "base/cat.h"
#include "interp/machine.h"
#include "tests/property/law_list.h"
#include "tests/property/run.h"

namespace relay::property {
namespace {

constexpr uint32_t kOrdinary = 600, kNightly = 100000;
// Of laws that take some 10 ms a program or more, so that a night has room for all laws.
constexpr uint32_t kNightlySlow = 30000;
// Each of these programs is compiled, so that there are few of them and they are large.
constexpr GenerateOptions kDataflow{.dataflow = true, .sometimes_network = true, .most_expressions = 250};
constexpr GenerateOptions kCompiled{.sometimes_dataflow = true, .sometimes_network = true};

// Some programs for dataflow have a value that is no dataflow; the shapes of nearly all are known.
constexpr AtMost kSkippedByGraph[] = {{"skipped: not-static-dataflow", 10}, {"skipped: dynamic-shape", 2}};

const Law kLaws[] = {
    {"types",
     "a program is well formed and type checks, values have their types, and checking again changes nothing",
     broken_types,
     kOrdinary,
     kNightly,
     {},
     "values",
     60},
    {"text",
     "the printed text reads back as the same program with the same types and results, and prints alike",
     broken_text,
     kOrdinary,
     kNightly,
     {},
     {},
     0},
    {"determinism",
     "doing everything twice gives the same bytes",
     broken_determinism,
     kOrdinary / 2,
     kNightlySlow,
     {},
     {},
     0},
    {"copies", "copies equal their originals and hash alike", broken_copies, kOrdinary, kNightly, {}, {}, 0},
    {"annotations",
     "a program without its annotations has the same types",
     broken_annotations,
     kOrdinary / 2,
     kNightly,
     {.open_extents = false},  // what an annotation opens is known without it
     "inferred",
     60},
    {"mistakes",
     "every operand of a wrong type is a diagnostic",
     broken_mistakes,
     kOrdinary / 6,
     kNightly / 10,  // each is checked once for each operand
     {},
     "mistakes",
     5000},
    {"passes",
     "each pass alone keeps types and results, and says so if it did nothing",
     broken_passes,
     kOrdinary,
     kNightlySlow,
     {.sometimes_network = true},
     "values",
     60,
     false,
     every_pass},
    {"pipelines",
     "passes in any order keep types and results",
     broken_pipelines,
     kOrdinary,
     kNightly,
     {.sometimes_network = true},
     "values",
     60,
     false,
     every_level},
    {"dataflow",
     "passes in any order keep types and results of programs for dataflow engines",
     broken_pipelines,
     kOrdinary / 2,
     kNightly,
     {.dataflow = true, .sometimes_network = true},
     "values",
     60,
     false,
     every_level},
    {"extents",
     "known extents in the place of shape variables keep types and results",
     broken_extents,
     kOrdinary,
     kNightly,
     {},
     "with shape variables",
     15},
    {"gradients",
     "the gradients of a program and its tangents along a direction say the same, and so do differences",
     broken_gradient,
     kOrdinary / 2,
     kNightlySlow,
     {.sometimes_network = true, .float_result = true},
     "with slopes",
     30,
     false,
     gradient_demands},
    {"jit",
     "the machine with compiled operators agrees with the interpreter",
     broken_jit,
     200,
     kNightly / 10,
     {.sometimes_network = true},
     "agreed",
     75,
     false,
     on_threads},
    {"graph", "the graph runtime agrees with the interpreter", broken_graph, 200, kNightly / 10, kDataflow,
     "agreed", 50, false, on_threads, nullptr, kSkippedByGraph},
    {"written-graph",
     "a graph that is written reads back as a program that computes the same bits",
     broken_written_graph,
     kOrdinary,
     kNightly,
     {.dataflow = true},
     "read back",
     50},
    {"aot", "a compiled program agrees with the interpreter", nullptr, 500, kNightly, kCompiled, "agreed", 75,
     true, on_threads, broken_aot},
    {"cuda", "a program for a GPU, emulated, agrees with the interpreter", nullptr, 100, kNightly / 10,
     kCompiled, "agreed", 75, true, nullptr, broken_cuda},
    {"artifact", "a program that is compiled as users compile it agrees with the interpreter",
     broken_artifact, 4, 200, kCompiled, "agreed", 50, true},
};

}  // namespace

std::string unexpected(const std::exception& e) {
  return cat("an exception that nobody expects: ", e.what());
}

std::span<const Law> laws() { return kLaws; }

const Law* find_law(std::string_view name) {
  for (const Law& law : kLaws) {
    if (law.name == name) return &law;
  }
  return nullptr;
}

std::string broken(const Law& law, const Bytes& bytes, Tally& tally) {
  return broken(law, std::span(&bytes, 1), tally).front();
}

std::vector<std::string> broken(const Law& law, std::span<const Bytes> bytes, Tally& tally) {
  tally["programs"] += bytes.size();
  std::vector<std::string> wrong;
  std::vector<Bytes> reversed;  // choices are taken from these
  std::vector<Asked> asked;
  for (const Bytes& b : bytes) reversed.emplace_back(b.rbegin(), b.rend());
  for (size_t i = 0; i < bytes.size(); ++i)
    asked.push_back({generate(bytes[i], law.options), ByteSource(reversed[i])});
  if (law.broken_together) return law.broken_together(asked, tally);
  for (const Asked& a : asked) {
    try {
      wrong.push_back(law.broken(a.program, a.choices, tally));
    } catch (const std::exception& e) {
      wrong.push_back(unexpected(e));
    }
  }
  return wrong;
}

std::string show(const Program& p) {
  std::string out = text_of(p.module);
  if (!p.args.empty())
    out += cat("// @main(", join(p.args, ", ", [](const Value& v) { return interp::show(v); }), ")\n");
  return out;
}

}  // namespace relay::property
