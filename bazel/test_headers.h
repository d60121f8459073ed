// What tests include besides (bazel/standard_headers.h).
#include <gtest/gtest.h>

#include "bazel/standard_headers.h"
