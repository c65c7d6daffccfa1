//===- BufferCsv.h - The buffer lists of MiniMalloc -------------------------===//
//
// Comma-separated lines under a header that names `id`, `lower`, `upper` and `size` in any order;
// `upper` is exclusive. An `offset` column is allowed: it is not read, and it is replaced in the
// output.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_PLANNING_FORMATS_BUFFERCSV_H
#define LLMMEM_PLANNING_FORMATS_BUFFERCSV_H

#include "llmmem/Planning/Allocation/Placement.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace llmmem::planning {

struct BufferTable {
  std::vector<std::string> ids; // as written in the file, distinct
  std::vector<Buffer> buffers;  // in the order of the file
};

/// Parses a table. It refuses, with the line and the fix: a missing, unknown or repeated column, a
/// number that is negative, too large or none, an empty live range, an id that is used twice, and
/// sizes that add up to 2^63 or more.
llvm::Expected<BufferTable> parseBufferCsv(llvm::StringRef text);

/// Prints `id,lower,upper,size,offset` in the order of the table.
void printBufferCsv(const BufferTable &table, const std::vector<int64_t> &offsets,
                    llvm::raw_ostream &os);

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_FORMATS_BUFFERCSV_H
