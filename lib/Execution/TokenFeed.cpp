//===- TokenFeed.cpp - Batches of token ids from text ----------------------===//

#include "llmmem/Execution/TokenFeed.h"
#include "llmmem/Execution/CounterSamples.h"
#include "llvm/ADT/StringExtras.h"

using namespace llmmem;

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

llvm::Expected<TokenFeed> TokenFeed::fromIds(llvm::StringRef file, llvm::StringRef text,
                                             Shape shape) {
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
        std::string where = (file + ":" + llvm::Twine(line) + ": id " +
                             llvm::Twine(ids.size() + 1) + ", '" + part + "', ")
                                .str();
        if (part.getAsInteger(10, id))
          return llvm::createStringError(where + "is not a number");
        if (id < 0 || id >= shape.vocabulary)
          return llvm::createStringError(where + "is outside the vocabulary of " +
                                         llvm::Twine(shape.vocabulary));
        ids.push_back(static_cast<int32_t>(id));
      }
    }
  }
  if (ids.size() < static_cast<size_t>(shape.size()))
    return llvm::createStringError("'" + file + "' has " + llvm::Twine(ids.size()) +
                                   " ids; one batch of " + llvm::Twine(shape.batch) + " x " +
                                   llvm::Twine(shape.seq) + " needs " + llvm::Twine(shape.size()));
  return TokenFeed(std::move(ids), shape);
}

size_t TokenFeed::beginOfRow(int64_t row) const {
  uint64_t length = all.size(), number = batch * shape.batch + shape.firstRow + row;
  if (shuffleSeed)
    return sampleWord(streamOf(*shuffleSeed, "places in the text"), number) %
           (length - shape.seq + 1);
  // Reduces the factors first, so that their product does not overflow.
  return (number % length) * (shape.seq % length) % length;
}

int32_t TokenFeed::idAt(size_t i) const {
  return all[(beginOfRow(i / shape.seq) + i % shape.seq) % all.size()];
}

void TokenFeed::next(llvm::MutableArrayRef<int32_t> ids, llvm::MutableArrayRef<int32_t> targets) {
  for (size_t i = 0; i < ids.size(); ++i)
    ids[i] = idAt(i);
  for (size_t i = 0; i < targets.size(); ++i)
    targets[i] = (i + 1) % shape.seq == 0 ? -100 : idAt(i + 1);
  ++batch;
}
