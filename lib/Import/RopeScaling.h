//===- RopeScaling.h - The published scalings of rotary positions -*- C++ -*-===//
//
// A scaling is a divisor of the frequency theta^(-2i/d) of each pair i < d/2, and a magnitude of
// the rotated elements. The sources, which transformers' modeling_rope_utils.py follows, are:
//
//   linear    divisors f                                        Chen et al. 2023
//   dynamic   theta' = theta (f s/m - (f - 1))^(d/(d-2)) for sequences of s > m positions
//   yarn      1 / (r/f + 1 - r), with a ramp r from 0 at fast pairs to 1 at slow ones; magnitude
//             0.1 ln f + 1                                      Peng et al. 2023
//   llama3    1 below a wavelength, f above another, interpolated between      Llama 3.1
//   longrope  a list for sequences up to m and one for longer ones; magnitude
//             sqrt(1 + ln f / ln m)                             Ding et al. 2024
//
// f is the factor, m the number of positions before it was applied.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_IMPORT_ROPESCALING_H
#define LLMMEM_LIB_IMPORT_ROPESCALING_H

#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace llmmem::importer {

struct RopeScaling {
  llvm::SmallVector<double> divisors; ///< One for each pair.
  double magnitude = 1;
};

RopeScaling linearScaling(int64_t elements, double factor);

/// Returns the base that replaces theta for sequences of `seq` positions.
double dynamicTheta(double theta, int64_t elements, double factor, int64_t seq, int64_t maxSeq);

struct YarnNumbers {
  double factor = 1;
  int64_t originalMaxSeq = 0;
  double fastTurns = 32; ///< Counts over the original positions; pairs that rotate more often do
                         ///< not change.
  double slowTurns = 1;
  bool wholeBounds = true; ///< The ramp begins and ends at pairs.
};
RopeScaling yarnScaling(double theta, int64_t elements, const YarnNumbers &numbers);
/// Returns 0.1 weight ln(factor) + 1, or 1 where nothing is stretched.
double yarnMagnitude(double factor, double weight = 1);

struct Llama3Numbers {
  double factor = 1, lowFrequency = 1, highFrequency = 4;
  int64_t originalMaxSeq = 0;
};
RopeScaling llama3Scaling(double theta, int64_t elements, const Llama3Numbers &numbers);

double longRopeMagnitude(double factor, int64_t originalMaxSeq);

} // namespace llmmem::importer

#endif // LLMMEM_LIB_IMPORT_ROPESCALING_H
