// Functions with the attribute `Compiler`, as engines have them: the code that a generator of
// aot/external made of each, or its body.
//
// `aot-cpp` compiles the code with an artifact. `graph` loads it into this process. The other
// engines run bodies.
#pragma once

#include <string_view>

#include "aot/external/external_code.h"
#include "base/diagnostics.h"
#include "base/result.h"
#include "driver/engines.h"
#include "ir/module.h"

namespace relay::driver {

// The module in which such functions are external kernels, whose code is added to `code`. Adds to
// `kept` why functions run by their bodies.
Module with_code_of_others(Module checked, std::string_view function, aot::ExternalCode& code,
                           Diagnostics& kept);

// The same with the code loaded, so that the kernels can be called. Reports "cannot-compile" to
// `diagnostics` where a header or a library is missing.
Result<Module> with_loaded_code(const Module& checked, std::string_view function, const Options& options,
                                Diagnostics& kept, Diagnostics& diagnostics);

}  // namespace relay::driver
