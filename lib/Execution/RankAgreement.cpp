//===- RankAgreement.cpp - What all ranks of a job must have alike ---------===//

#include "llmmem/Execution/RankAgreement.h"
#include "llmmem/Execution/RankJob.h"
#include "llmmem/Runtime/Collectives.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace llmmem;

char RanksDiffer::ID;

void RanksDiffer::log(llvm::raw_ostream &os) const { os << message; }

std::string llmmem::describeContents(llvm::StringRef name, llvm::StringRef hash) {
  return ("'" + name + "' (" + hash.take_front(8) + ")").str();
}

//===----------------------------------------------------------------------===//
// Differences
//===----------------------------------------------------------------------===//

static const RankFact *factNamed(llvm::StringRef name, llvm::ArrayRef<RankFact> facts) {
  const RankFact *found = llvm::find_if(facts, [&](const RankFact &f) { return f.name == name; });
  return found == facts.end() ? nullptr : found;
}

static std::string valueOf(const RankFact *fact) { return fact ? fact->value : "none"; }

static std::string describeRanks(llvm::ArrayRef<size_t> ranks) {
  constexpr size_t kMost = 8;
  std::string text = llvm::join(
      llvm::map_range(ranks.take_front(kMost), [](size_t r) { return std::to_string(r); }), ", ");
  if (ranks.size() > kMost)
    text += " and " + std::to_string(ranks.size() - kMost) + " more";
  return ranks.size() == 1 ? "rank " + text + " has " : "ranks " + text + " have ";
}

/// Adds "rank 2 has --seed 7 where rank 0 has 1", once for each other value.
static void addDifferences(llvm::StringRef name, llvm::ArrayRef<std::vector<RankFact>> facts,
                           std::vector<std::string> &sentences) {
  const RankFact *first = factNamed(name, facts.front());
  llvm::MapVector<std::string, std::vector<size_t>, std::map<std::string, unsigned>> others;
  for (size_t rank = 1; rank < facts.size(); ++rank) {
    const RankFact *other = factNamed(name, facts[rank]);
    if (!first != !other || (first && first->identity != other->identity))
      others[valueOf(other)].push_back(rank);
  }
  for (const auto &[value, ranks] : others)
    sentences.push_back(describeRanks(ranks) + name.str() + " " + value + " where rank 0 has " +
                        valueOf(first));
}

std::string llmmem::describeDifferences(llvm::ArrayRef<std::vector<RankFact>> facts) {
  std::vector<std::string> names, sentences;
  for (const std::vector<RankFact> &list : facts)
    for (const RankFact &fact : list)
      if (!llvm::is_contained(names, fact.name))
        names.push_back(fact.name);
  for (const std::string &name : names)
    addDifferences(name, facts, sentences);
  return llvm::join(sentences, "; ");
}

//===----------------------------------------------------------------------===//
// Comparing
//===----------------------------------------------------------------------===//

/// Texts of facts have no zero byte.
static std::string encode(llvm::ArrayRef<RankFact> facts) {
  std::string text;
  for (const RankFact &fact : facts)
    for (const std::string *part : {&fact.name, &fact.identity, &fact.value})
      text += std::string(part->c_str()) + '\0';
  return text;
}

static std::vector<RankFact> decode(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, '\0');
  std::vector<RankFact> facts;
  for (size_t at = 0; at + 3 < parts.size(); at += 3)
    facts.push_back({parts[at].str(), parts[at + 1].str(), parts[at + 2].str()});
  return facts;
}

llvm::Error RankAgreement::compare() const {
  if (RankJob::size() == 1)
    return llvm::Error::success();
  std::vector<std::vector<RankFact>> all;
  for (const std::string &text : RankJob::gatherTexts(encode(facts)))
    all.push_back(decode(text));
  std::string differences = describeDifferences(all);
  if (differences.empty())
    return llvm::Error::success();
  llmmem_ranks_end_alike();
  return llvm::make_error<RanksDiffer>(differences +
                                       "; start all ranks with the same step, flags and data");
}
