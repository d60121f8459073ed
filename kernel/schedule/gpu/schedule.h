// Schedules for GPUs by rule. Each outermost statement of the result is one launch of a grid of
// blocks of threads.
//
// Results are the same bits in every run: each element is computed in one order, by the same
// threads, and nothing is added up by whoever comes first.
#pragma once

#include "kernel/kernel.h"
#include "kernel/schedule/accepts.h"
#include "kernel/schedule/settings.h"
#include "target/target.h"

namespace relay::kernel::schedule::gpu {

// What a kernel's structure says decides which rule applies to a tensor, never the
// name of an operator:
//  * elements that are computed each by itself: one thread an element, or 16 bytes of them;
//  * products of two operands that vary along different axes: tiles in shared memory,
//    register tiles within;
//  * reductions of rows: a warp or a block for each row;
//  * tensors that all go along the same rows: a block for each row does them all;
//  * other reductions: one thread an element;
//  * what must be done in order: one thread.
// A kernel that is not as Builder wrote it is one thread's work.
Kernel schedule_for_gpu(const Kernel& k, const target::Gpu& gpu, const Settings& settings = {});

// Rows that stay in the memory of a block. No attention: no rule computes a product and what reads
// it in one launch, so a kernel of both would only keep the whole matrix of scores.
Accepts accepts(const target::Gpu& gpu);

}  // namespace relay::kernel::schedule::gpu
