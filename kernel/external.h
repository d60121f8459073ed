// External kernels: what their C functions may be called, and calls of them in this process.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/kernel.h"
#include "runtime/tensor.h"

namespace relay::kernel {

// The most parameters of such a function, pointers and extents together.
inline constexpr size_t kMostExternalParameters = 32;

// Why no external kernel can name the function so, as the end of a sentence; empty if it can.
std::string wrong_symbol(std::string_view symbol);

// The kernel's shape variables as far as its buffers mention them: what the function is given
// unless the program says otherwise.
std::vector<Expr> default_extents(const Kernel& k);

// What is wrong with an external kernel, as sentences; empty if nothing is.
std::vector<std::string> validate_external(const Kernel& k);

// Do the functions of two external kernels have one C signature?
bool same_signature(const Kernel& a, const Kernel& b);

// Calls the function on pointers to inputs and outputs, with the values of shape_parameters. Gives
// 0, or the code of its failure. Throws Trap if no library was named that has it.
int32_t call_external(const Kernel& k, void* const* buffers, const int64_t* dims);

// What a run says that ended with this code.
std::string external_failure(const Kernel& k, int32_t code);

// As the reference executor calls it, see `execute`: inputs are copies, and nothing lies beside the
// outputs, so that a function which breaks its contract is found out. Throws Trap.
std::vector<::relay::Tensor> execute_external(const Kernel& k, std::span<const ::relay::Tensor> inputs);

}  // namespace relay::kernel
