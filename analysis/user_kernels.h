// User kernels, those that the program itself has: what may be done with calls of them.
#pragma once

#include <optional>
#include <unordered_map>

#include "ir/module.h"
#include "op/op_def.h"

namespace relay::analysis {

// The module with kernels that require what they rely on (kernel/explicit_checks.h): to be done
// before they are compiled.
Module with_explicit_checks(const Module& m);

class UserKernels {
 public:
  explicit UserKernels(const Module& m) : module_(m) {}

  // The kernel that the expression calls; null if it is something else.
  const kernel::Kernel* callee(Expr e) const;
  // Could the call trap, for some values or shapes? If not, it may be moved and dropped.
  bool may_trap(const Call& call, const kernel::Kernel& k);
  // How a call that does not trap may join others in one kernel; nothing if it stays by itself.
  std::optional<op::Fusion> fusion(const kernel::Kernel& k) { return facts(k).fusion; }

 private:
  struct Facts {
    bool may_fail = true;  // for some values
    std::optional<op::Fusion> fusion = {};
  };
  static Facts look_at(const kernel::Kernel& k);
  const Facts& facts(const kernel::Kernel& k);

  Module module_;
  std::unordered_map<const kernel::Kernel*, Facts> facts_;
};

}  // namespace relay::analysis
