#include "op/requirements.h"

namespace relay::op {

void require_extent_is(Relation& r, Dim d, Dim wanted, int arg, const std::string& reason) {
  // In the caller's words: `same` would show an expression that the program does not have.
  if (prove_equal(d, wanted) == kernel::Proof::kRefuted) r.fail(arg, reason);
  r.same(d, wanted, arg, reason);
}

void require_at_least(Relation& r, Dim d, Dim least, int arg, const std::string& reason) {
  if (d.is_too_large()) return;  // which is said of the result
  require_extent_is(r, max(d, least), d, arg, reason);
}

void require_multiple(Relation& r, Dim d, int64_t of, int arg, const std::string& reason) {
  require_extent_is(r, floor_mod(d, of), 0, arg, reason);
}

}  // namespace relay::op
