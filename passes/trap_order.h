// Trap order: which traps a program may end by, in the order in which it evaluates them.
//
// A program that could trap in two places traps in the first one (docs/semantics.md, "Order"). A
// pass that moves an evaluation may exchange the two. This analysis notices that afterwards, so
// that a pass may move freely where no traps are exchanged.
#pragma once

#include "ir/module.h"

namespace relay::passes {

// Returns true if the traps of `after` are some of those of `before`, in the same order, or if all
// have one name. Traps are compared by what names them in messages: the operator, the kernel, or
// that it is a match or a call. One name may have several messages, so traps that are written in
// one place each are compared by their places, too. Checks of shapes are left out: they are alike,
// and passes may move them (docs/semantics.md, "Failures").
bool keeps_trap_order(const Module& before, const Module& after);

}  // namespace relay::passes
