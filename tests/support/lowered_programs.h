// The programs of exec files as kernels for a target.
#pragma once

#include <functional>
#include <string>

#include "ir/module.h"
#include "target/target.h"
#include "tools/test_files/test_file.h"

namespace relay::tests {

// For each function that the file calls: the program with it as @main, as -O2 lowers it for the
// target. Left out are programs that are to be refused, and functions that have no kernels.
void for_each_lowered(const tools::TestFile& file, const target::Target& target,
                      const std::function<void(const std::string& function, const Module& lowered)>& f);

}  // namespace relay::tests
