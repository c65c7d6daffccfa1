//===- CardName.h - Cards as people write them -------------------------------===//
//
// A card has one table and many spellings. Case, spaces, hyphens and the maker's words do not
// matter; a number before an x says how many cards there are, and a size how much memory one has:
//
//   4090, rtx4090, RTX 4090, NVIDIA GeForce RTX 4090     the table rtx4090
//   2x3090, 2 x RTX-3090, 3090x2                         two of rtx3090
//   h100-80gb, H100 SXM5 80GB, 8xh100                    h100, and eight of them
//   a100-40gb                                            the table a100-40gb
//   4090-48gb                                            rtx4090, with other memory than its table
//   says
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_DEVICE_CARDNAME_H
#define LLMMEM_DEVICE_CARDNAME_H

#include "llmmem/Device/DeviceModel.h"

namespace llmmem {

/// Describes what a name means: one table, and the number of cards.
struct NamedCards {
  DeviceModel table; // With the memory that the name says, where it says one.
  int64_t count = 1;
};

/// Returns the count before or after an x, and the rest of the name: {2, "3090"} of `2x3090`.
std::pair<int64_t, llvm::StringRef> splitCount(llvm::StringRef name);

/// Reads any spelling of a shipped table. The error names the nearest table, where one is near, and
/// lists all.
llvm::Expected<NamedCards> readCardName(llvm::StringRef name);

} // namespace llmmem

#endif // LLMMEM_DEVICE_CARDNAME_H
