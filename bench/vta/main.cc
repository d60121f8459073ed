// How fast the simulator of VTA multiplies: a product of 784 x 576 and 576 x 1024 numbers of 8
// bits, by each kind of products that this processor runs. The times are those of whole streams:
// loads, micro-ops of ALU and the search for races included. They are of the processor: what other
// programs take does not count. With the argument `layers`: how many cycles the streams of layers
// take instead.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <string_view>

#include "bench/vta/layers.h"
#include "vta/isa/testing.h"
#include "vta/sim/simulator.h"
#include "vta/sim/testing.h"

namespace relay::vta {
namespace {

constexpr int kRepeats = 5;

void measure(const Layout& layout, const Products& products) {
  const testing::MatrixProduct shape = {
      .rows = 784, .columns = 64, .depth = 36, .tile = 28, .width = 8, .shift = 8};
  Simulator simulator(layout, {.products = &products});
  std::mt19937_64 random(1);
  const std::vector<Instruction> stream = testing::matrix_product(layout, shape, simulator.dram(), random);
  const Params& p = layout.params();
  const double macs =
      static_cast<double>(shape.products()) * static_cast<double>(p.batch() * p.block() * p.block());
  double best = 1e9;
  for (int i = 0; i < kRepeats; i++) {
    const std::clock_t begin = std::clock();
    const Outcome outcome = simulator.run(stream);
    CHECK(!outcome.refusal, outcome.refusal ? outcome.refusal->cause : "");
    best = std::min(best, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  fmt::print("{:<16} {:7.2f} ms {:7.1f} GMAC/s\n",
             products.target.empty() ? "any processor" : products.target, best * 1e3, macs / best * 1e-9);
}

}  // namespace
}  // namespace relay::vta

int main(int argc, char** argv) {
  using namespace relay::vta;
  if (argc == 2 && std::string_view(argv[1]) == "layers") return measure_layers();
  const Layout layout = testing::layout_of({});
  for (const Products& products : all_products()) {
    if (runs_here(products)) measure(layout, products);
  }
}
