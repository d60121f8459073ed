// Why a pass that does not look through lets leaves a program as it is.
#pragma once

#include "ir/module.h"
#include "passes/pass.h"

namespace relay::passes {

// Such a pass has left the module. Tells the context which let is the reason, if one is: after
// `inline-lets` the pass would change the module. Both passes run to find out.
void tell_of_lets(const Module& m, const Pass& pass, const PassContext& context);

}  // namespace relay::passes
