// From a module to an ONNX model: any viewer opens it, and other runtimes check it.
//
// A function of static dataflow over tensors, whose extents may be shape variables, becomes a
// graph of operator set 21. Inputs and outputs keep their names. Weights are initialisers. Each
// value has the type that the type checker found, so that the shape inference of others checks it.
//
// Nothing is approximated: a call that ONNX would compute differently is refused. An operator that
// is defined by others is written out in those where ONNX has none like it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "base/result.h"
#include "ir/module.h"

namespace relay::exporter {

// The pipeline that makes a function one of dataflow, where it is. Two rounds, as more may be
// inlined once branches are decided. Of constants it folds scalars and what is no larger than its
// arguments, so that weights in small integers stay small.
inline constexpr std::string_view kBeforeExport =
    "inline,inline-lets,fold-constants{max-bytes=64},dead-code,inline,inline-lets,dead-code";

struct OnnxNames {
  std::vector<std::string> inputs, outputs;  // a parameter's own, and output_0, ..., where there is none
};

struct OnnxModel {
  std::string bytes;
  size_t nodes = 0, initialisers = 0;
};

// The module is type checked, and went through kBeforeExport or the like. Reports
// "not-static-dataflow" for other forms, "unsupported-operator" for each call that has no form in
// ONNX, and "limit-file-size" for weights beyond 2 GiB.
Result<OnnxModel> export_onnx(const Module& m, std::string_view function, const OnnxNames& names,
                              Diagnostics& diagnostics);

}  // namespace relay::exporter
