// The first operand's elements under another shape, as C++ (View of program.h), and what is
// compared before they are read.
#pragma once

#include <string>
#include <vector>

#include "aot/arenas.h"
#include "aot/extents.h"
#include "aot/function_text.h"
#include "aot/kernel_calls.h"
#include "aot/program.h"

namespace relay::aot {

// Compares extents of operands with what their types say; others end the run. An extent that the
// function does not know stands for any.
void compare_extents(FunctionText& text, const std::vector<DoubtedExtent>& doubted,
                     const std::vector<std::string>& operands, const Extents& extents);

// Prints the view that a call of `def` with these operands gives, and returns its name. Extents
// that it opens are added to `extents`. Shapes that the operator does not allow end the run.
std::string print_view(FunctionText& text, Arenas& arenas, const KernelCalls& calls, Extents& extents,
                       const op::OpDef& def, const View& view, const std::vector<std::string>& operands);

}  // namespace relay::aot
