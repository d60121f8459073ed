// Named tensors in whatever form they lie on disk.
//
//   x.npz            an archive               inputs/             a folder of NAME.npy
//   x.npy            one tensor               test_data_set_0/    a folder of input_K.pb, output_K.pb
//   x.safetensors    named tensors            x.pb                one tensor
//   x.params         named tensors, as TVM's graph executor has them
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "base/result.h"
#include "frontend/data/limits.h"
#include "frontend/data/named_tensors.h"

namespace relay::frontend::data {

// Which files of a test_data_set_N/ are meant.
enum class Role { kInput, kOutput };

// What is at `path`, whole. Tensors of a folder come sorted by name (of a test data set,
// by number); a tensor that has no name of its own (x.npy, x.pb, input_K.pb) is named ""
// or as its proto says.
Result<NamedTensors> read_tensors(const std::string& path, Role role, const Limits& limits,
                                  Diagnostics& diagnostics);

// The tensor called `name`, or the only one of a file in which it has no name. Reports
// "tensor-missing".
Result<Tensor> read_tensor(const std::string& path, std::string_view name, const Limits& limits,
                           Diagnostics& diagnostics);

// Does the path end like that of a file of tensors?
bool is_tensor_file(std::string_view path);

// The tensors called `names`, in that order. A file of a folder may have _ for each / and : of the
// name, if that stands for one name only. A single unnamed tensor belongs to a single name, and
// the K-th file of a test data set to the K-th name. Missing and unknown names are reported, all of
// them, with those that look alike. Those in `fixed` have their values already: the file may leave
// them out, and what it says of them must be the same, or it is reported ("input-value-conflict").
Result<NamedTensors> read_named(const std::string& path, std::span<const std::string> names, Role role,
                                const Limits& limits, Diagnostics& diagnostics,
                                const NamedTensors& fixed = {});

// The form follows from the path: .npz, .npy (one tensor), .safetensors, .params, test_data_set_N/,
// or a folder of .npy files, which is made if need be. Each file appears whole or not at all.
Result<bool> write_tensors(const std::string& path, const NamedTensors& tensors, Role role,
                           Diagnostics& diagnostics);

// The files that write_tensors makes of tensors with these names, and those that may
// be read at a path.
std::vector<std::string> files_to_write(const std::string& path, std::span<const std::string> names,
                                        Role role);
std::vector<std::string> files_to_read(const std::string& path);

// NAME.npy without the suffix: bytes that a file name cannot hold, and "%", are written %2F.
std::string file_name_of(std::string_view tensor_name);

}  // namespace relay::frontend::data
