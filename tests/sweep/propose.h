// Proposals: an operator's known calls, changed at random in dtypes, extents, ranks and attributes.
//
// Every proposal is shown to the operator's own relation. So what is kept is well typed by
// definition, and a wrong guess costs one question.
#pragma once

#include "ir/context.h"
#include "tests/property/bytes.h"
#include "tests/sweep/seeds.h"

namespace relay::sweep {

// A seed with some changes that the operator's relation accepts; in the worst case the seed itself.
// The same bytes give the same draft. Its attributes are of this context.
Draft propose(Context& context, const std::vector<Seed>& seeds, property::ByteSource& in);

// The types of a draft's arguments.
std::vector<Type> types_of(Context& context, const Draft& d);

// Does the operator's relation take the draft, and are its tensors small?
bool is_well_typed(Context& context, const Draft& d);

// An extent that tests are likely to stumble over.
int64_t draw_extent(property::ByteSource& in);

}  // namespace relay::sweep
