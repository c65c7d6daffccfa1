//===- RankAgreement.h - What all ranks of a job must have alike -----------===//
//
// Ranks that run different programs, flags or data would silently compute nonsense, or wait for
// each other for ever. So they compare before the first step what must be alike, and all of them
// end where something differs:
//
//   ranks.add("--seed", "7"); ...
//   if (llvm::Error error = ranks.compare()) // "rank 2 has --seed 7 where rank 0 has 1; ..."
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_EXECUTION_RANKAGREEMENT_H
#define LLMMEM_EXECUTION_RANKAGREEMENT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace llmmem {

/// Holds what a rank has under a name. Ranks agree where their identities are equal; messages show
/// the value.
struct RankFact {
  std::string name, identity, value;
};

/// Says how `facts`, one list for each rank, differ from those of rank 0: a sentence that names
/// ranks and both values, or "" where all agree.
std::string describeDifferences(llvm::ArrayRef<std::vector<RankFact>> facts);

/// All ranks fail with this error, and one of them prints it.
class RanksDiffer : public llvm::ErrorInfo<RanksDiffer> {
public:
  static char ID;
  explicit RanksDiffer(std::string message) : message(std::move(message)) {}
  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }

private:
  std::string message;
};

class RankAgreement {
public:
  void add(llvm::StringRef name, const std::string &value) { add(name, value, value); }
  void add(llvm::StringRef name, const std::string &identity, const std::string &value) {
    facts.push_back({name.str(), identity, value});
  }
  /// All ranks call it. Where anything differs it fails with RanksDiffer on all of them, and all
  /// leave the job together (`RankJob::leave`).
  llvm::Error compare() const;

private:
  std::vector<RankFact> facts;
};

/// Returns what a file is shown as, by the hash of its contents: "'book.txt' (3f2a91c0)".
std::string describeContents(llvm::StringRef name, llvm::StringRef hash);

} // namespace llmmem

#endif // LLMMEM_EXECUTION_RANKAGREEMENT_H
