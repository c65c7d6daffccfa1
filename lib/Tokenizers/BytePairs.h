//===- BytePairs.h - Pairs merged by rank ----------------------------------===//
//
// Byte pair encoding (Sennrich et al. 2016, section 3.2; Gage 1994) begins with the characters of a
// word. It merges the pair of neighbours that was learned first, the leftmost of equal ones, until
// no pair is left. A heap of pairs makes that n log n steps for n characters.
//
//   merges "l o", "lo w"    l o w e r -> lo w e r -> low e r
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_TOKENIZERS_BYTEPAIRS_H
#define LLMMEM_LIB_TOKENIZERS_BYTEPAIRS_H

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <vector>

namespace llmmem::tokenizers {

class BytePairs {
public:
  static llvm::Expected<BytePairs> read(const llvm::json::Object &model);
  /// Appends the ids of a word.
  void encode(llvm::StringRef word, std::vector<int32_t> &ids) const;
  const llvm::StringMap<int32_t> &vocabulary() const { return ids; }

private:
  struct Merge {
    uint32_t rank;
    int32_t merged;
  };
  llvm::Error readVocabulary(const llvm::json::Object &model);
  llvm::Error readMerges(const llvm::json::Object &model);
  llvm::Error addMerge(llvm::StringRef left, llvm::StringRef right);
  std::vector<int32_t> charactersOf(llvm::StringRef word) const;
  bool addBytes(llvm::StringRef character, std::vector<int32_t> &to) const;
  void mergePairs(std::vector<int32_t> &word) const;
  const Merge *find(int32_t left, int32_t right) const;

  llvm::StringMap<int32_t> ids;
  llvm::DenseMap<uint64_t, Merge> merges; // Indexed by both ids.
  int32_t unknown = -1;                   // The value -1 means none.
  bool fusesUnknown = false, fallsBackToBytes = false, ignoresMerges = false;
};

} // namespace llmmem::tokenizers

#endif // LLMMEM_LIB_TOKENIZERS_BYTEPAIRS_H
