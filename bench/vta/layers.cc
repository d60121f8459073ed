#include "bench/vta/layers.h"

#include <fmt/format.h>

#include <algorithm>

#include "vta/compile/compile.h"
#include "vta/compile/pack.h"
#include "vta/compile/testing.h"
#include "vta/isa/testing.h"

namespace relay::vta {
namespace {

// Every byte once: of weights, of the result, and of the pixels of the input that are needed.
int64_t least_bytes(const Layer& layer, const Params& params) {
  const BlockedLayer blocked = in_blocks(layer, params);
  TensorShape input = input_shape(layer);
  input.rows = blocked.rows.size;
  input.columns = std::min(input.columns, output_shape(layer).columns * layer.columns.window);
  return packed_bytes(input, params) + packed_bytes(output_shape(layer), params) +
         blocked.weights * params.dram_bytes(Memory::kWgt);
}

uint64_t moved(const Cycles& cycles) {
  uint64_t out = 0;
  for (const uint64_t bytes : cycles.bytes) out += bytes;
  return out;
}

}  // namespace

int measure_layers() {
  const Layout layout = testing::layout_of({});
  fmt::print("{:<4} {:>9} {:>9} {:>9} {:>6} {:>6} {:>10} {:>10} {:>10}  {}\n", "", "products", "1 thread",
             "2 threads", "util 1", "util 2", "bytes", "least", "published", "schedule");
  uint64_t products = 0, total = 0;
  for (const testing::NamedLayer& l : testing::resnet18_layers()) {
    LayerConstants constants;
    constants.weights.resize(static_cast<size_t>(weight_shape(l.layer).size()));
    Cycles cycles[2];
    std::string schedule;
    for (const int threads : {1, 2}) {
      Diagnostics d;
      const Result<LayerCode> code = compile_layer(l.layer, constants, layout, {.threads = threads}, d);
      if (!code) {
        fmt::print("{}", d.render(SourceMap()));
        return 1;
      }
      cycles[threads - 1] = count_cycles(layout, code->instructions, {});
      schedule = text_of(code->schedule);
    }
    products += cycles[1].gemm, total += cycles[1].total;
    fmt::print("{:<4} {:>9} {:>9} {:>9} {:>5.1f}% {:>5.1f}% {:>10} {:>10} {:>10}  {}\n", l.name,
               cycles[1].gemm, cycles[0].total, cycles[1].total, cycles[0].utilisation() * 100,
               cycles[1].utilisation() * 100, moved(cycles[1]), least_bytes(l.layer, layout.params()),
               testing::published_bytes(l), schedule);
  }
  fmt::print("all  {:>9} {:>19} {:>12.1f}%\n", products, total,
             100.0 * static_cast<double>(products) / static_cast<double>(total));
  return 0;
}

}  // namespace relay::vta
