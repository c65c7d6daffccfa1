//===- PackingTables.h - Tables of offsets and of orders -----------------------------===//

#ifndef LLMMEM_BENCHMARKS_PACKINGTABLES_H
#define LLMMEM_BENCHMARKS_PACKINGTABLES_H

/// The instances of MiniMalloc at their stated capacity; reads minimalloc/ in LLMMEM_DATA.
void printMiniMalloc();

/// Live ranges of real training steps, and a synthetic one of 100,000 buffers; reads live-ranges/
/// in LLMMEM_DATA.
void printLiveRanges();

/// Training steps that recompute, given in orders with a high peak, against a hand-written order.
void printOrder();

#endif // LLMMEM_BENCHMARKS_PACKINGTABLES_H
