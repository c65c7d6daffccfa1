//===- ProblemReader.h - The reader of a llmmem-problem ---------------------===//
//
// The reader reads the variant that a file states, and the others that it lists (VariantSet.h).
// Values and ops are referred to by id until all of the file is read, since keys come in any order.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_MODEL_PROBLEMREADER_H
#define LLMMEM_LIB_PLANNING_MODEL_PROBLEMREADER_H

#include "VersionedReader.h"
#include "llmmem/Planning/Model/VariantSet.h"
#include "llvm/ADT/ArrayRef.h"
#include <memory>
#include <unordered_map>

namespace llmmem::planning {

inline constexpr std::pair<llvm::StringLiteral, Phase> phaseWords[] = {
    {"none", Phase::None},
    {"forward", Phase::Forward},
    {"backward", Phase::Backward},
    {"update", Phase::Update}};
inline constexpr std::pair<llvm::StringLiteral, Resource> resourceWords[] = {
    {"compute", Resource::Compute},
    {"host_compute", Resource::HostCompute},
    {"link", Resource::Link},
    {"copy_up", Resource::DeviceToHost},
    {"copy_down", Resource::HostToDevice}};
inline constexpr std::pair<llvm::StringLiteral, VariantSelection> selectionWords[] = {
    {"plan", VariantSelection::ByPlan}, {"ops_once", VariantSelection::ByOpsOnce}};

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
  explicit ProblemReader(JsonReader &reader) : reader(reader), versions(reader) {}

  /// Reads the whole text.
  llvm::Expected<VariantSet> run();

private:
  bool readMemory();
  bool memory(MemoryIndex &index);
  bool readAlternative(Alternative &alternative);
  bool readProblem();
  bool readValues();
  bool readOps();
  bool readVariant();
  bool readTiling(std::vector<VariantText::Entry> &tiling);
  bool readValue();
  bool readOp();
  bool ids(std::vector<int64_t> &list);
  bool pairs(std::vector<std::pair<int64_t, int64_t>> &list);
  llvm::Error resolve();
  llvm::Error resolveList(llvm::ArrayRef<int64_t> list, std::vector<ValueIndex> &values,
                          const std::string &place);
  llvm::Error resolveVariants();
  llvm::Expected<ProblemVariant>
  resolveStatedVariant(const VariantText &text, const Problem &stated, const std::string &place);
  llvm::Expected<ProblemVariant> resolveVariant(const VariantText &text, const std::string &place);

  JsonReader &reader;
  VersionedReader versions;
  Problem problem;
  VariantSet variants;
  bool hasValues = false, hasOps = false;
  int64_t numMemories = 0; // read so far
  std::vector<OpText> texts;
  std::vector<VariantText> variantTexts;
  std::vector<int64_t> keep;
  std::unordered_map<int64_t, ValueIndex> indexOf; // DenseMap reserves two of the legal ids
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_MODEL_PROBLEMREADER_H
