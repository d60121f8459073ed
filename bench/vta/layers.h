// What streams of layers take on the cycle model.
#pragma once

namespace relay::vta {

// Prints a table of layers C2 to C11 of ResNet-18: cycles with one and two virtual threads,
// utilisation, and bytes beside those that any schedule moves and those of published schedules.
// Returns the exit status.
int measure_layers();

}  // namespace relay::vta
