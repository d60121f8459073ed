// How a library that was compiled is opened.
#pragma once

#include <optional>
#include <span>

#include "runtime/denormals.h"
#include "runtime/relay.h"

namespace relay::driver {

// `threads` is 0 for what the library was compiled with, and so is no mode of denormals. What is
// wrong is written to `error`, which must outlive the call of relay_model_open.
inline relay_open_options open_options(unsigned threads, std::optional<Denormals> denormals,
                                       std::span<char> error) {
  relay_open_options options = {};
  options.struct_size = sizeof options;
  options.threads = threads;
  if (denormals)
    options.denormals = *denormals == Denormals::kKeep ? RELAY_DENORMALS_KEEP : RELAY_DENORMALS_FLUSH;
  options.error = error.data();
  options.error_size = error.size();
  return options;
}

}  // namespace relay::driver
