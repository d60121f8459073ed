// The shrinker: fewer and smaller bytes that still fail.
#pragma once

#include <functional>

#include "tests/property/bytes.h"

namespace relay::property {

// Deletes spans, zeroes spans and lowers single bytes as long as `fails` stays true, with at most
// `most` questions. It must be true of `bytes`. Deterministic.
Bytes shrink(Bytes bytes, const std::function<bool(const Bytes&)>& fails, size_t most = 4000);

}  // namespace relay::property
