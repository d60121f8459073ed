#include "vta/sim/page.h"

#include "vta/isa/page.h"
#include "vta/sim/cycles.h"

namespace relay::vta {

std::string timing_table() {
  return "| number | default | range | meaning |\n|---|---|---|---|\n" +
         number_table(timing_rows(), Timing());
}

}  // namespace relay::vta
