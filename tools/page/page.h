// The page of `relay demo --page`: one HTML file with a model at every stage, linked, and the
// figures of its kernels.
//
// The file needs no network. The same input gives the same text, except in cells of the class
// `time`. This file escapes every text of a model.
#pragma once

#include <string>

#include "tools/page/kernel_errors.h"
#include "tools/page/lineage.h"

namespace relay::tools {

// An image of one channel, of `side` rows and columns of values from 0 to 255, row by row.
struct PagePicture {
  int64_t side = 0;
  std::vector<double> pixels = {};
  std::string caption = {};
};

struct PageContents {
  std::string title;
  PagePicture picture;
};

std::string page_of(const PageContents& contents, const Lineage& lineage, const Figures& figures);

}  // namespace relay::tools
