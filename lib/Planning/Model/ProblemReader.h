//===- ProblemReader.h - The reader of a llmmem-problem ---------------------===//
//
// The reader reads the variant that a file states, and the others that it lists (VariantSet.h).
// Values and ops are referred to by id until all of the file is read, since keys come in any order.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_MODEL_PROBLEMREADER_H
#define LLMMEM_LIB_PLANNING_MODEL_PROBLEMREADER_H

#include "llmmem/Planning/Model/VariantSet.h"
#include "llmmem/Support/JsonReader.h"
#include "llvm/ADT/ArrayRef.h"
#include <memory>
#include <unordered_map>

namespace llmmem::planning {

/// Returns the name of a phase in the text, such as `forward`.
llvm::StringRef phaseName(Phase phase);

/// An op as the text has it: values are ids, which are resolved once all values are read (keys come
/// in any order).
struct OpText {
  std::vector<int64_t> reads, writes;
  std::vector<std::pair<int64_t, int64_t>> inPlace;
};

class ProblemReader;

/// A variant as the text has it.
struct VariantText {
  struct Entry {
    int64_t op, cost, workspace;
  };
  std::vector<std::vector<Entry>> tilings;
  std::vector<int64_t> selected;
  std::unique_ptr<ProblemReader> own; // null for the variant that the file states
};

class ProblemReader {
public:
  explicit ProblemReader(JsonReader &reader) : reader(reader) {}

  /// Reads the whole text.
  llvm::Expected<VariantSet> run();

private:
  bool isVersion2() const { return version == 2; }

  /// Reads an object. `version` comes before the keys that only one version has, so that it is
  /// clear which keys are allowed when one is read.
  bool members(llvm::ArrayRef<JsonMember> both, llvm::ArrayRef<JsonMember> ofVersion1,
               llvm::ArrayRef<JsonMember> ofVersion2);
  bool readMemory();
  bool memory(MemoryIndex &index);
  bool resource(Resource &resource);
  bool readAlternative(Alternative &alternative);
  bool readProblem();
  bool readValues();
  bool readOps();
  bool readChoice();
  bool readVariant();
  bool readTiling(std::vector<VariantText::Entry> &tiling);
  bool readValue();
  bool readOp();
  bool ids(std::vector<int64_t> &list);
  bool pairs(std::vector<std::pair<int64_t, int64_t>> &list);
  bool phase(Phase &phase);
  llvm::Error resolve();
  llvm::Error resolveList(llvm::ArrayRef<int64_t> list, std::vector<ValueIndex> &values,
                          const std::string &place);
  llvm::Error resolveVariants();
  llvm::Expected<ProblemVariant>
  resolveStatedVariant(const VariantText &text, const Problem &stated, const std::string &place);
  llvm::Expected<ProblemVariant> resolveVariant(const VariantText &text, const std::string &place);

  JsonReader &reader;
  Problem problem;
  VariantSet variants;
  int64_t version = 0;
  bool hasValues = false, hasOps = false;
  int64_t numMemories = 0; // read so far
  std::vector<OpText> texts;
  std::vector<VariantText> variantTexts;
  std::vector<int64_t> keep;
  std::unordered_map<int64_t, ValueIndex> indexOf; // DenseMap reserves two of the legal ids
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_MODEL_PROBLEMREADER_H
