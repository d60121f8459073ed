// What passes of an engine made of a program.
#pragma once

#include "passes/observer.h"

namespace relay::property {

class Watch : public passes::Observer {
 public:
  void ran(const passes::StepReport& report, Diagnostics& d) override;

  bool winograd() const { return winograd_; }  // Winograd's filtering is used
  bool parallel() const { return parallel_; }  // a kernel has a loop that threads share

 private:
  bool winograd_ = false, parallel_ = false;
};

}  // namespace relay::property
