#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "vta/isa/text.h"
#include "vta/sim/cycles.h"

namespace relay::vta {

std::string chrome_trace(std::span<const Instruction> stream, const Cycles& cycles) {
  nlohmann::ordered_json events = nlohmann::ordered_json::array();
  for (const Engine e : kAllEngines) {
    events.push_back({{"name", "thread_name"},
                      {"ph", "M"},
                      {"pid", 0},
                      {"tid", static_cast<int>(e)},
                      {"args", {{"name", name_of(e)}}}});
  }
  for (size_t i = 0; i < cycles.times.size(); i++) {
    const Times& times = cycles.times[i];
    std::string name(name_of(stream[i].opcode));
    if (stream[i].opcode == Opcode::kLoad) name += " " + std::string(name_of(stream[i].memory));
    if (stream[i].opcode == Opcode::kAlu) name += " " + std::string(name_of(stream[i].alu_op));
    events.push_back(
        {{"name", name},
         {"ph", "X"},
         {"pid", 0},
         {"tid", static_cast<int>(engine_of(stream[i]))},
         {"ts", times.begin},
         {"dur", times.end - times.begin},
         {"args", {{"index", i}, {"text", disassemble(stream[i])}, {"fetched", times.fetched}}}});
  }
  return json_text(nlohmann::ordered_json{{"traceEvents", std::move(events)}});
}

}  // namespace relay::vta
