#include "vta/isa/params.h"

#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/json_text.h"
#include "base/nearest.h"

namespace relay::vta {
namespace {

constexpr std::array<ParamRow, 10> kRows = {{
    {"LOG_INP_WIDTH", &Params::log_inp_width, 3, 5, "bits of an input"},
    {"LOG_WGT_WIDTH", &Params::log_wgt_width, 3, 5, "bits of a weight"},
    {"LOG_ACC_WIDTH", &Params::log_acc_width, 5, 5, "bits of an accumulator"},
    {"LOG_OUT_WIDTH", &Params::log_out_width, 3, 5, "bits of a result in DRAM; as wide as inputs if absent"},
    {"LOG_BATCH", &Params::log_batch, 0, 4, "rows of an input vector (BATCH)"},
    {"LOG_BLOCK", &Params::log_block, 2, 6, "columns of an input vector, rows of a weight tile (BLOCK)"},
    {"LOG_UOP_BUFF_SIZE", &Params::log_uop_buff_size, 2, 24, "bytes of the scratchpad of micro-ops"},
    {"LOG_INP_BUFF_SIZE", &Params::log_inp_buff_size, 2, 24, "bytes of the scratchpad of inputs"},
    {"LOG_WGT_BUFF_SIZE", &Params::log_wgt_buff_size, 2, 24, "bytes of the scratchpad of weights"},
    {"LOG_ACC_BUFF_SIZE", &Params::log_acc_buff_size, 2, 24, "bytes of the scratchpad of accumulators"},
}};

constexpr std::string_view kOutWidth = "LOG_OUT_WIDTH";
// Keys of published files that no number of ours stands for: they do not change the instructions.
constexpr std::array<std::string_view, 2> kLabels = {"TARGET", "HW_VER"};

constexpr int kLogMicroOpBytes = 2;

void wrong(Diagnostics& d, std::string message) {
  d.error(Span::none(), "vta-parameters", std::move(message));
}

// The object that the text is. Sets `why` if it is none, if a value is nested, or if a key stands
// twice, which a document tree does not show.
nlohmann::json flat_object(std::string_view text, std::string& why) {
  std::set<std::string> keys;
  int depth = 0;
  const auto watch = [&](int, nlohmann::json::parse_event_t event, nlohmann::json& value) {
    using Event = nlohmann::json::parse_event_t;
    if (event == Event::object_start || event == Event::array_start) {
      if (++depth > 1) why = "its values are numbers and texts, and none is an object or a list";
    } else if (event == Event::key && !keys.insert(value.get<std::string>()).second) {
      why = cat("it has the key `", value.get<std::string>(), "` twice");
    }
    return true;
  };
  nlohmann::json all = nlohmann::json::parse(text, watch, /*allow_exceptions=*/false);
  if (why.empty() && all.is_discarded()) why = "it is not JSON";
  if (why.empty() && !all.is_object()) why = "it is not a JSON object";
  return all;
}

std::optional<int> small_number(const nlohmann::json& value) {
  if (!value.is_number_integer()) return std::nullopt;
  if (value.is_number_unsigned() && value.get<uint64_t>() > 1000) return std::nullopt;
  const int64_t number = value.get<int64_t>();
  if (number < -1000 || number > 1000) return std::nullopt;
  return static_cast<int>(number);
}

std::vector<std::string> known_keys() {
  std::vector<std::string> out(kLabels.begin(), kLabels.end());
  for (const ParamRow& row : kRows) out.emplace_back(row.key);
  return out;
}

// The parameter that is the size of the memory's scratchpad.
int Params::* size_of(Memory memory) {
  switch (memory) {
    case Memory::kUop: return &Params::log_uop_buff_size;
    case Memory::kInp: return &Params::log_inp_buff_size;
    case Memory::kWgt: return &Params::log_wgt_buff_size;
    case Memory::kAcc:
    case Memory::kOut:
    case Memory::kAcc8: break;
  }
  return &Params::log_acc_buff_size;
}

}  // namespace

int Params::log_dram_bytes(Memory memory) const {
  const int vector = log_batch + log_block - 3;
  switch (memory) {
    case Memory::kUop: return kLogMicroOpBytes;
    case Memory::kWgt: return 2 * log_block + log_wgt_width - 3;
    case Memory::kInp: return vector + log_inp_width;
    case Memory::kAcc: return vector + log_acc_width;
    case Memory::kOut: return vector + log_out_width;
    case Memory::kAcc8: return vector + 3;
  }
  return 0;
}

int Params::log_depth(Memory memory) const {
  return this->*size_of(memory) - log_dram_bytes(scratchpad_of(memory));
}

std::span<const ParamRow> param_rows() { return kRows; }

Result<Params> read_params(std::string_view text, Diagnostics& diagnostics) {
  std::string why;
  const nlohmann::json all = flat_object(text, why);
  if (!why.empty()) {
    wrong(diagnostics, cat("the configuration cannot be read: ", why));
    return kReported;
  }
  Params params;
  bool out_width = false, sound = true;
  for (const auto& [key, value] : all.items()) {
    if (key == kLabels[0] || key == kLabels[1]) {
      (key == kLabels[0] ? params.target : params.hw_ver) =
          value.is_string() ? value.get<std::string>() : json_text(value);
      continue;
    }
    const ParamRow* row = nullptr;
    for (const ParamRow& candidate : kRows) {
      if (candidate.key == key) row = &candidate;
    }
    const std::optional<int> number = small_number(value);
    if (!row) {
      wrong(diagnostics, no_such("parameter", key, known_keys()));
    } else if (!number) {
      wrong(diagnostics, cat("`", key, "` is an integer of ", row->least, " to ", row->most, ", and not `",
                             json_text(value), "`"));
    } else {
      params.*row->member = *number;
      out_width |= key == kOutWidth;
      continue;
    }
    sound = false;
  }
  if (!out_width) params.log_out_width = params.log_inp_width;
  if (!sound || !check_params(params, diagnostics)) return kReported;
  return params;
}

std::string write_params(const Params& params) {
  nlohmann::ordered_json out = {{kLabels[0], params.target}, {kLabels[1], params.hw_ver}};
  for (const ParamRow& row : kRows) out[std::string(row.key)] = params.*row.member;
  return json_text(out, 2) + "\n";
}

bool check_params(const Params& params, Diagnostics& diagnostics) {
  if (!check_ranges(param_rows(), params, diagnostics)) return false;
  const size_t before = diagnostics.errors();
  for (const Memory memory : kScratchpads) {
    if (params.log_depth(memory) >= 1) continue;
    for (const ParamRow& row : kRows) {
      if (row.member == size_of(memory))
        wrong(diagnostics, cat("`", row.key, "` is ", params.*row.member, ", and one element has 2^",
                               params.log_dram_bytes(memory), " bytes: the scratchpad needs two elements"));
    }
  }
  return diagnostics.errors() == before;
}

}  // namespace relay::vta
