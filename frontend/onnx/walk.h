// GraphWalk: converts the nodes of one graph in order, on each path through it. Private to this
// folder.
#pragma once

#include <set>
#include <string>
#include <unordered_map>

#include "frontend/onnx/paths.h"

namespace relay::frontend {

class Importer;

class GraphWalk {
 public:
  GraphWalk(Importer& importer, const ::onnx::GraphProto& graph, Path& root);

  // Converts all nodes and puts the outputs of the graph at each end of the root; one that needs a
  // node that was refused is there as failed. False if an output is not defined, or at a limit.
  bool run();

 private:
  void advance(Path& path, const ::onnx::NodeProto& node);
  void convert(Path& path, const ::onnx::NodeProto& node);
  void fail(Path& path, const ::onnx::NodeProto& node);
  void settle(Path& path);
  uint32_t refusal_of(const Path& way, const std::set<std::string>& needed);
  void refuse(const ::onnx::NodeProto& node, const std::string& limit);
  bool collect(Path& path);
  int last_use(const std::string& name);

  Importer& importer_;
  const ::onnx::GraphProto& graph_;
  Path& root_;
  int at_ = 0;  // the node that is converted
  std::unordered_map<std::string, int> last_use_;
};

}  // namespace relay::frontend
