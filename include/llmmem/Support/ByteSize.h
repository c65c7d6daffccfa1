//===- ByteSize.h - Sizes in bytes as text ---------------------------------===//
//
// GB is 10^9 and GiB is 2^30, in flags and in reports alike.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_SUPPORT_BYTESIZE_H
#define LLMMEM_SUPPORT_BYTESIZE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>

namespace llmmem {

/// Reads `123`, `40GB`, `37.25GiB`, `1.5 MiB`: a positive number and a unit of B, kB, MB, GB, TB,
/// KiB, MiB, GiB or TiB. The arithmetic is exact; a fraction of a byte is dropped, so that a
/// budget is never rounded up. Example: `37.25GiB` is 39996882944.
llvm::Expected<int64_t> parseByteSize(llvm::StringRef text);

/// Formats `40.00 GB` or `512 B`, for people. Programs get integers.
std::string formatByteSize(int64_t bytes);

/// Does the same in powers of 1024: 40 GB are `37.25 GiB`.
std::string formatBinaryByteSize(int64_t bytes);

} // namespace llmmem

#endif // LLMMEM_SUPPORT_BYTESIZE_H
