// A cache for one test program: what it compiled for one engine, level or number of threads it
// finds again for another one. No other program finds it.
#pragma once

namespace relay::tests {

// Until the program ends, $RELAY_CACHE is a new folder.
void keep_what_is_compiled();

}  // namespace relay::tests
