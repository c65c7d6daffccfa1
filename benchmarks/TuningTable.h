//===- TuningTable.h - What a setting of the planner's constants finds ---------------===//

#ifndef LLMMEM_BENCHMARKS_TUNINGTABLE_H
#define LLMMEM_BENCHMARKS_TUNINGTABLE_H

/// Plans a fixed set of problems and prints one line for each group of them: what was found, what
/// it recomputes, how small the least memory is, and the work counted on the way. No number depends
/// on the machine.
void printTuning();

#endif // LLMMEM_BENCHMARKS_TUNINGTABLE_H
