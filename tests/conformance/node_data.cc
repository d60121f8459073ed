#include "tests/conformance/node_data.h"

#include <onnx/onnx-data_pb.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <stdexcept>

#include "base/cat.h"
#include "base/file.h"
#include "frontend/data/onnx_tensor.h"

namespace relay::tests {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMostBytes = uint64_t{1} << 28;  // of one file

// How far an element may be away: ONNX's own runner allows as much.
constexpr double kAbsolute = 2e-6, kRelative = 1e-3;

// Operators whose elements are drawn.
constexpr std::array<std::string_view, 6> kRandom = {
    "Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"};

template <class Message>
Result<Message> parse(std::string_view bytes, const std::string& source, Diagnostics& diagnostics) {
  Message out;
  const std::string wrong = frontend::data::parse_message(bytes, out);
  if (wrong.empty()) return out;
  diagnostics.error(Span::none(), "onnx-malformed", cat("cannot read `", source, "`: ", wrong));
  return kReported;
}

std::string contents(const std::string& path) {
  std::string out;
  if (const std::string wrong = read_file(path, kMostBytes, out); !wrong.empty())
    throw std::runtime_error(wrong);
  return out;
}

// What messages are made into.
class Messages {
 public:
  Messages(const std::string& source, Diagnostics& diagnostics)
      : source_(source), diagnostics_(diagnostics) {}

  Result<CaseValue> value(const ::onnx::TensorProto& proto) {
    Result<Tensor> t = frontend::data::tensor_of(proto, source_, nullptr, Span::none(), diagnostics_);
    if (!t) return kReported;
    return CaseValue{.tensor = std::move(*t)};
  }

  Result<CaseValue> value(const ::onnx::SequenceProto& proto) {
    if (proto.elem_type() != ::onnx::SequenceProto::TENSOR)
      return refuse("a sequence of something else than tensors");
    CaseValue out;
    for (const ::onnx::TensorProto& element : proto.tensor_values()) {
      Result<CaseValue> part = value(element);
      if (!part) return kReported;
      out.parts.push_back(std::move(*part));
    }
    return out;
  }

  Result<CaseValue> value(const ::onnx::OptionalProto& proto) {
    if (proto.has_tensor_value()) return value(proto.tensor_value());
    if (proto.has_sequence_value()) return value(proto.sequence_value());
    if (proto.has_optional_value() || proto.has_map_value() || proto.has_sparse_tensor_value())
      return refuse("an optional value of something else than tensors and sequences");
    return CaseValue{.is_absent = true};
  }

 private:
  Reported refuse(std::string_view what) {
    diagnostics_.error(Span::none(), "unsupported-input", cat("`", source_, "` has ", what));
    return kReported;
  }

  const std::string& source_;
  Diagnostics& diagnostics_;
};

template <class Message>
Result<CaseValue> parse_as(std::string_view bytes, const std::string& source, Diagnostics& diagnostics) {
  const Result<Message> message = parse<Message>(bytes, source, diagnostics);
  if (!message) return kReported;
  return Messages(source, diagnostics).value(*message);
}

using Given = std::map<std::string, CaseValue>;  // inputs of the model, by name

// True if this input of a node may have another element than 0.
bool may_be_set(const ::onnx::NodeProto& node, int input, const Given& given) {
  if (input >= node.input_size() || node.input(input).empty()) return true;
  const auto found = given.find(node.input(input));
  if (found == given.end() || !found->second.tensor) return true;
  const Tensor& t = *found->second.tensor;
  for (int64_t i = 0; i < t.size(); ++i) {
    if (t.get(i) != 0) return true;
  }
  return false;
}

// A Dropout drops elements in training, which its third input says, unless its ratio is 0.
bool draws(const ::onnx::NodeProto& node, const Given& given) {
  if (std::find(kRandom.begin(), kRandom.end(), node.op_type()) != kRandom.end()) return true;
  return node.op_type() == "Dropout" && node.input_size() > 2 && may_be_set(node, 2, given) &&
         may_be_set(node, 1, given);
}

bool is_random(const ::onnx::ModelProto& model, const Given& given) {
  const auto any_draws = [&](const auto& nodes) {
    return std::any_of(nodes.begin(), nodes.end(), [&](const auto& node) { return draws(node, given); });
  };
  return any_draws(model.graph().node()) ||
         std::any_of(model.functions().begin(), model.functions().end(),
                     [&](const ::onnx::FunctionProto& f) { return any_draws(f.node()); });
}

// The files of one role: "input_0.pb" is the value of values[0], and so on.
Result<std::vector<CaseValue>> read_all(const std::string& folder, std::string_view role,
                                        const std::vector<const ::onnx::ValueInfoProto*>& values,
                                        Diagnostics& diagnostics) {
  std::vector<CaseValue> out;
  for (size_t i = 0; i < values.size(); ++i) {
    const std::string path = cat(folder, "/test_data_set_0/", role, "_", i, ".pb");
    Result<CaseValue> value = parse_case_value(contents(path), path, values[i]->type(), diagnostics);
    if (!value) return kReported;
    out.push_back(std::move(*value));
  }
  return out;
}

Result<CaseData> read_data(const std::string& folder, const std::vector<std::string>& parameters,
                           Diagnostics& diagnostics) {
  const std::string path = folder + "/model.onnx";
  const Result<::onnx::ModelProto> model = parse<::onnx::ModelProto>(contents(path), path, diagnostics);
  if (!model) return kReported;
  std::vector<const ::onnx::ValueInfoProto*> inputs, outputs;
  for (const ::onnx::ValueInfoProto& input : model->graph().input()) {
    if (std::find(parameters.begin(), parameters.end(), input.name()) != parameters.end())
      inputs.push_back(&input);
  }
  for (const ::onnx::ValueInfoProto& output : model->graph().output()) outputs.push_back(&output);
  Result<std::vector<CaseValue>> given = read_all(folder, "input", inputs, diagnostics);
  if (!given) return kReported;
  Result<std::vector<CaseValue>> wanted = read_all(folder, "output", outputs, diagnostics);
  if (!wanted) return kReported;
  Given by_name;
  for (size_t i = 0; i < inputs.size(); ++i) by_name[inputs[i]->name()] = (*given)[i];
  const bool draws = is_random(*model, by_name);
  return CaseData{std::move(*given), std::move(*wanted), kRelative, kAbsolute, draws};
}

}  // namespace

std::vector<std::string> node_test_names() {
  std::vector<std::string> out;
  for (const char* suite : {"node", "simple", "pytorch-converted", "pytorch-operator"}) {
    for (const auto& entry : fs::directory_iterator(fs::path(kNodeTests) / suite)) {
      if (fs::exists(entry.path() / "model.onnx"))
        out.push_back(cat(suite, "/", entry.path().filename().string()));
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::optional<NodeCase> load_node_test(const std::string& name, const Module& empty, bool is_open,
                                       CaseRefusal& why) {
  const std::string folder = cat(kNodeTests, "/", name);
  const auto read = [&](const std::vector<std::string>& parameters, Diagnostics& diagnostics) {
    return read_data(folder, parameters, diagnostics);
  };
  return load_case(folder + "/model.onnx", read, empty, is_open, why);
}

Result<CaseValue> parse_case_value(std::string_view bytes, const std::string& source,
                                   const ::onnx::TypeProto& type, Diagnostics& diagnostics) {
  if (type.has_optional_type()) return parse_as<::onnx::OptionalProto>(bytes, source, diagnostics);
  if (type.has_sequence_type()) return parse_as<::onnx::SequenceProto>(bytes, source, diagnostics);
  Result<::onnx::TensorProto> proto = parse<::onnx::TensorProto>(bytes, source, diagnostics);
  if (!proto) return kReported;
  // The files of ONNX 1.12 have bfloat16 as the integers that have its bits.
  if (type.tensor_type().elem_type() == ::onnx::TensorProto::BFLOAT16 &&
      proto->data_type() == ::onnx::TensorProto::UINT16)
    proto->set_data_type(::onnx::TensorProto::BFLOAT16);
  return Messages(source, diagnostics).value(*proto);
}

}  // namespace relay::tests
