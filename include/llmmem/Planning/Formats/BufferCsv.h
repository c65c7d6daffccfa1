//===- BufferCsv.h - The buffer lists of MiniMalloc -------------------------===//
//
// Comma-separated lines under a header that names `id`, `lower`, `upper` and `size` in any order;
// `upper` is exclusive. An `offset` column may be there: it is not read, and is written anew.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_PLANNING_FORMATS_BUFFERCSV_H
#define LLMMEM_PLANNING_FORMATS_BUFFERCSV_H

#include "llmmem/Planning/Allocation/Placement.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace llmmem::planning {

struct BufferTable {
  std::vector<std::string> ids; // as they stand in the file, distinct
  std::vector<Buffer> buffers;  // in the order of the file
};

/// Refuses, with the line and the mend: a missing, unknown or repeated column, a number that is
/// negative, too large or none, an empty lifetime, an id that stands twice, sizes that add up to
/// 2^63 or more.
llvm::Expected<BufferTable> parseBufferCsv(llvm::StringRef text);

/// `id,lower,upper,size,offset`, in the order of the table.
void printBufferCsv(const BufferTable &table, const std::vector<int64_t> &offsets,
                    llvm::raw_ostream &os);

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_FORMATS_BUFFERCSV_H
