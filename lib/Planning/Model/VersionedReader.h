//===- VersionedReader.h - Objects whose keys depend on the version of the file -===//

#ifndef LLMMEM_LIB_PLANNING_MODEL_VERSIONEDREADER_H
#define LLMMEM_LIB_PLANNING_MODEL_VERSIONEDREADER_H

#include "llmmem/Support/JsonReader.h"

namespace llmmem::planning {

/// Reads objects of problems and plans. The version of a file comes before the keys that only one
/// version has, so that it is clear which keys are allowed when one is read.
class VersionedReader {
public:
  explicit VersionedReader(JsonReader &reader) : reader(reader) {}

  bool isVersion2() const { return version == 2; }
  /// Reads an object as JsonReader::members does, whose members are those of both versions and
  /// those of its own.
  bool members(llvm::StringRef what, JsonMembers both, JsonMembers ofVersion1,
               JsonMembers ofVersion2);

  int64_t version = 0;

private:
  JsonReader &reader;
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_MODEL_VERSIONEDREADER_H
