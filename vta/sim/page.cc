#include "vta/sim/page.h"

#include "base/cat.h"
#include "vta/isa/page.h"
#include "vta/sim/cycles.h"

namespace relay::vta {

std::string timing_table() {
  std::string out = "| number | default | range | meaning |\n|---|---|---|---|\n";
  for (const TimingRow& row : timing_rows())
    out += markdown_row(
        {cat("`", row.key, "`"), cat(Timing().*row.member), cat(row.least, " to ", row.most), row.doc});
  return out;
}

}  // namespace relay::vta
