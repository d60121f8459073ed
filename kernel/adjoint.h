// The adjoint of a kernel: how far the sum of its outputs, each element times its adjoint, moves
// with each element of its inputs.
//
//   kernel @scale(x: float32[n]) -> (y: float32[n])          y[i] = x[i] * x[i]          has
//   kernel @scale_adjoint(x: float32[n], dy: float32[n]) -> (dx: float32[n])
//                                                            dx[i] = dy[i] * x[i] + dy[i] * x[i]
//
// It is a kernel like any other, and has an adjoint of its own.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/kernel.h"

namespace relay::kernel {

struct Adjoint {
  std::optional<Kernel> kernel = {};
  std::string reason = {};  // why there is none, as a clause; empty if there is
};

// Inputs: those of `k`, then an adjoint for each output of floats. Outputs: an adjoint for each
// input of floats whose place in `wanted` is true; all of them if that is empty.
//
// Each load becomes one nest. It sums over the axes that the element's index does not tell, as
// adjoints of products and convolutions do: that is a nest that schedules know. Where an index is
// data, or says too little of the axes, a nest adds to one element after the other.
//
// None: if the kernel cannot be taken apart (steps.h), writes over part of a tensor where it cannot
// be told which, or reads what it writes later. What is no float has no adjoint, and what is
// computed from integers alone moves nothing.
Adjoint adjoint_of(const Kernel& k, std::string_view name, const std::vector<bool>& wanted = {});

// The tangent: from the inputs of `k` and a tangent for each of them that is of floats, to the
// tangent of each output of floats. An adjoint is linear in those that it takes: the tangent is the
// adjoint of the adjoint with respect to these.
Adjoint tangent_of(const Kernel& k, std::string_view name);

}  // namespace relay::kernel
