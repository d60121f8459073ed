#include "tests/golden/readers.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/cat.h"
#include "frontend/data/inputs.h"
#include "frontend/graph/import.h"
#include "frontend/onnx/import.h"
#include "op/operators.h"
#include "typecheck/check.h"

namespace relay::tests {
namespace {

namespace fs = std::filesystem;

std::string unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') continue;
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const char c = text[++i];
    if (c == 'x' && i + 2 < text.size()) {
      out += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
      i += 2;
    } else {
      out += c == 'n' ? '\n' : c == '0' ? '\0' : c;
    }
  }
  return out;
}

void write_files(const std::string& lines) {
  std::istringstream in(lines);
  std::string name, contents;
  const auto finish = [&] {
    if (name.empty()) return;
    if (const fs::path folder = fs::path(name).parent_path(); !folder.empty()) fs::create_directories(folder);
    std::ofstream(name, std::ios::binary) << unescaped(contents);
  };
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(" ")) {
      contents += line.substr(line.find_first_not_of(' '));
      continue;
    }
    finish();
    const size_t colon = line.find(": ");
    name = line.substr(0, colon);
    contents = colon == std::string::npos ? "" : line.substr(colon + 2);
  }
  finish();
}

frontend::data::Limits limits_of(const Command& c) {
  frontend::data::Limits out;
  out.file_bytes = c.number("file-bytes", out.file_bytes);
  out.total_bytes = c.number("total-bytes", out.total_bytes);
  out.tensors = c.number("tensors", out.tensors);
  out.header_bytes = c.number("header-bytes", out.header_bytes);
  out.archive_ratio = c.number("archive-ratio", out.archive_ratio);
  out.small_archive_bytes = c.number("small-archive-bytes", out.small_archive_bytes);
  return out;
}

std::string imported(const Command& c, const std::string& bytes, const Module& empty,
                     Diagnostics& diagnostics) {
  frontend::ImportOptions options;
  options.nodes = c.number("nodes", options.nodes);
  options.graph_depth = c.number("graph-depth", options.graph_depth);
  options.unrolled_steps =
      static_cast<int64_t>(c.number("unrolled-steps", static_cast<size_t>(options.unrolled_steps)));
  if (const std::string shape = c.option("shape"); !shape.empty()) {
    const size_t colon = shape.find(':');
    std::istringstream extents(shape.substr(colon + 1));
    std::vector<frontend::InputDim> dims;
    for (std::string e; std::getline(extents, e, ',');) {
      const bool number = e.find_first_not_of("0123456789") == std::string::npos;
      dims.push_back(number ? frontend::InputDim{std::stoll(e), ""} : frontend::InputDim{-1, e});
    }
    options.input_shapes[shape.substr(0, colon)] = dims;
  }
  if (const std::string fixed = c.option("fix"); !fixed.empty()) {
    const size_t equals = fixed.find('=');
    options.input_values.emplace(fixed.substr(0, equals),
                                 *frontend::data::parse_value(fixed.substr(equals + 1)));
  }
  const ScratchFolder folder;
  if (const std::string data = c.option("data"); !data.empty()) {
    const size_t colon = data.find(':');
    std::ofstream(data.substr(0, colon)) << std::string(std::stoul(data.substr(colon + 1)), '\0');
  }
  const std::string here = ".";
  const Result<Module> m = frontend::import_onnx(bytes, "model.onnx", &here, empty, options, diagnostics);
  if (!m) return "";
  const Result<Module> checked = typecheck::check(*m, diagnostics);
  return checked ? op::text_of(*checked) : "";
}

}  // namespace

ScratchFolder::ScratchFolder() : before_(fs::current_path()) {
  EXPECT_EQ(folder_.make(), "");
  fs::current_path(folder_.path());
}

ScratchFolder::~ScratchFolder() { fs::current_path(before_); }

std::string repeated(std::string_view text) {
  std::string out;
  for (size_t at = 0;;) {
    const size_t begin = text.find("<<", at);
    const size_t bar = text.find('|', begin), end = text.find(">>", begin);
    if (begin == std::string_view::npos || bar > end) return out.append(text.substr(at));
    out.append(text.substr(at, begin - at));
    const int times = std::stoi(std::string(text.substr(begin + 2, bar - begin - 2)));
    for (int i = 0; i < times; ++i) out.append(text.substr(bar + 1, end - bar - 1));
    at = end + 2;
  }
}

std::string import_text(const Command& c, const std::string& model, const Module& empty,
                        Diagnostics& diagnostics) {
  ::onnx::ModelProto proto;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(model, &proto)) << "the model is not text format";
  return imported(c, proto.SerializeAsString(), empty, diagnostics);
}

std::string import_escaped(const Command& c, const std::string& bytes, const Module& empty,
                           Diagnostics& diagnostics) {
  return imported(c, unescaped(bytes), empty, diagnostics);
}

std::string import_graph_text(const Command& c, const std::string& files, const Module& empty,
                              Diagnostics& diagnostics) {
  const ScratchFolder folder;
  write_files(files);
  frontend::GraphImportOptions options;
  options.limits.graph.nodes = c.number("nodes", options.limits.graph.nodes);
  if (const std::string shape = c.option("shape"); !shape.empty()) {
    const size_t colon = shape.find(':');
    std::istringstream extents(shape.substr(colon + 1));
    for (std::string e; std::getline(extents, e, ',');)
      options.input_shapes[shape.substr(0, colon)].push_back(std::stoll(e));
  }
  const Result<frontend::GraphFiles> found = frontend::graph_files(c.arguments.at(0), diagnostics);
  if (!found) return "";
  const Result<Module> m = frontend::import_graph(*found, empty, options, diagnostics);
  const Result<Module> checked = m ? typecheck::check(*m, diagnostics) : Result<Module>(kReported);
  return checked ? op::text_of(*checked) : "";
}

std::string read_text(const Command& c, const std::string& files, Diagnostics& diagnostics) {
  const ScratchFolder folder;
  write_files(files);
  const std::string path = c.arguments.empty() ? "" : c.arguments[0];
  const std::vector<std::string> names = c.list("names");
  const Result<frontend::data::NamedTensors> found =
      names.empty()
          ? frontend::data::read_tensors(path, frontend::data::Role::kInput, limits_of(c), diagnostics)
          : frontend::data::read_named(path, names, frontend::data::Role::kInput, limits_of(c), diagnostics);
  std::string out;
  for (size_t i = 0; found && i < found->size(); ++i) {
    const Tensor& t = (*found)[i].value;
    out += cat((*found)[i].name, ": ", t.dtype().name(), " ", show(t.shape()), "\n");
  }
  return out;
}

std::string write_text(const Command& c, Diagnostics& diagnostics) {
  const ScratchFolder folder;
  frontend::data::NamedTensors tensors;
  for (const std::string& name : c.list("names")) tensors.push_back({name, Tensor(kFloat32, {})});
  const std::string path = c.arguments.empty() ? "" : c.arguments[0];
  return frontend::data::write_tensors(path, tensors, frontend::data::Role::kInput, diagnostics) ? "written\n"
                                                                                                 : "";
}

}  // namespace relay::tests
