//===- TokenFeed.cpp - Batches of token ids from text ----------------------===//

#include "llmmem/Execution/TokenFeed.h"
#include "llmmem/Execution/CounterSamples.h"
#include "llvm/ADT/StringExtras.h"

using namespace llmmem;

/// What the public library ignores in a loss.
static constexpr int32_t kNoLoss = -100;

llvm::Expected<TokenFeed> TokenFeed::fromText(llvm::StringRef file, llvm::StringRef text,
                                              Shape shape) {
  if (text.size() < static_cast<size_t>(shape.size()))
    return llvm::createStringError("'" + file + "' has " + llvm::Twine(text.size()) +
                                   " bytes; one batch of " + llvm::Twine(shape.batch) + " x " +
                                   llvm::Twine(shape.seq) + " needs " + llvm::Twine(shape.size()));
  std::vector<int32_t> ids;
  for (unsigned char byte : text) {
    // Fibonacci hashing separates neighbouring letters.
    uint32_t hash = (byte * 2654435769u) >> 8;
    ids.push_back(shape.vocabulary >= 256 ? byte : static_cast<int32_t>(hash % shape.vocabulary));
  }
  return TokenFeed(std::move(ids), shape);
}

/// Ids separated by white space, each in the vocabulary or the number that stands for none.
static llvm::Expected<std::vector<int32_t>> readIds(llvm::StringRef file, llvm::StringRef text,
                                                    llvm::StringRef what, int64_t vocabulary,
                                                    std::optional<int64_t> none) {
  std::vector<int32_t> ids;
  int64_t line = 1;
  for (llvm::StringRef rest = text; !rest.empty(); ++line) {
    auto [here, after] = rest.split('\n');
    rest = after;
    for (llvm::StringRef word : llvm::split(here.trim(), ' ')) {
      for (llvm::StringRef part : llvm::split(word, '\t')) {
        part = part.trim();
        if (part.empty())
          continue;
        int64_t id = 0;
        std::string where = (file + ":" + llvm::Twine(line) + ": " + what + " " +
                             llvm::Twine(ids.size() + 1) + ", '" + part + "', ")
                                .str();
        if (part.getAsInteger(10, id))
          return llvm::createStringError(where + "is not a number");
        if ((id < 0 || id >= vocabulary) && id != none)
          return llvm::createStringError(
              where + "is outside the vocabulary of " + llvm::Twine(vocabulary) +
              (none ? " and not " + llvm::Twine(*none) + ", which stands for no loss" : ""));
        ids.push_back(static_cast<int32_t>(id));
      }
    }
  }
  return ids;
}

llvm::Expected<TokenFeed> TokenFeed::fromIds(llvm::StringRef file, llvm::StringRef text,
                                             Shape shape) {
  llvm::Expected<std::vector<int32_t>> ids =
      readIds(file, text, "id", shape.vocabulary, std::nullopt);
  if (!ids)
    return ids.takeError();
  if (ids->size() < static_cast<size_t>(shape.size()))
    return llvm::createStringError("'" + file + "' has " + llvm::Twine(ids->size()) +
                                   " ids; one batch of " + llvm::Twine(shape.batch) + " x " +
                                   llvm::Twine(shape.seq) + " needs " + llvm::Twine(shape.size()));
  return TokenFeed(std::move(*ids), shape);
}

llvm::Error TokenFeed::readLabels(llvm::StringRef file, llvm::StringRef text) {
  llvm::Expected<std::vector<int32_t>> read =
      readIds(file, text, "label", shape.vocabulary, kNoLoss);
  if (!read)
    return read.takeError();
  if (read->size() != all.size())
    return llvm::createStringError("'" + file + "' has " + llvm::Twine(read->size()) +
                                   " labels, expected one for each of the " +
                                   llvm::Twine(all.size()) + " ids");
  labels = std::move(*read);
  return llvm::Error::success();
}

size_t TokenFeed::beginOfRow(int64_t row) const {
  uint64_t length = all.size(), number = batch * shape.batch + shape.firstRow + row;
  if (shuffleSeed)
    return sampleWord(streamOf(*shuffleSeed, "places in the text"), number) %
           (length - shape.seq + 1);
  // Reduces the factors first, so that their product does not overflow.
  return (number % length) * (shape.seq % length) % length;
}

int32_t TokenFeed::at(const std::vector<int32_t> &file, size_t i) const {
  return file[(beginOfRow(i / shape.seq) + i % shape.seq) % file.size()];
}

void TokenFeed::next(const Batch &to) {
  const std::vector<int32_t> &predicted = labels.empty() ? all : labels;
  for (size_t i = 0; i < to.ids.size(); ++i)
    to.ids[i] = at(all, i);
  for (size_t i = 0; i < to.targets.size(); ++i)
    to.targets[i] = (i + 1) % shape.seq == 0 ? kNoLoss : at(predicted, i + 1);
  for (size_t i = 0; i < to.labels.size(); ++i)
    to.labels[i] = at(predicted, i);
  ++batch;
}
