#include "passes/observer.h"

namespace relay::passes {

void Observer::begins(const Pipeline&, const Module&, Diagnostics&) {}
void Observer::ran(const StepReport&, Diagnostics&) {}
void Observer::failed(const Pipeline&, const Module&, Diagnostics&) {}
void Observer::ended() {}
void Observer::lowered(Symbol, const Call&) {}

}  // namespace relay::passes
