//===- TokenFeed.cpp - Batches of token ids from text ----------------------===//

#include "llmmem/Execution/TokenFeed.h"
#include "llmmem/Execution/CounterSamples.h"
#include "llmmem/Execution/ModelBuffers.h"
#include "llmmem/Execution/SafeTensors.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

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

/// Numbers separated by white space. `expected` says what one should have been, or nothing where it
/// is right.
static llvm::Expected<std::vector<int32_t>>
readNumbers(llvm::StringRef file, llvm::StringRef text, llvm::StringRef what,
            llvm::function_ref<std::string(int64_t)> expected) {
  std::vector<int32_t> numbers;
  int64_t line = 1;
  for (llvm::StringRef rest = text; !rest.empty(); ++line) {
    auto [here, after] = rest.split('\n');
    rest = after;
    for (llvm::StringRef word : llvm::split(here.trim(), ' ')) {
      for (llvm::StringRef part : llvm::split(word, '\t')) {
        part = part.trim();
        if (part.empty())
          continue;
        int64_t number = 0;
        std::string where = (file + ":" + llvm::Twine(line) + ": " + what + " " +
                             llvm::Twine(numbers.size() + 1) + ", '" + part + "', ")
                                .str();
        if (part.getAsInteger(10, number))
          return llvm::createStringError(where + "is not a number");
        if (std::string fault = expected(number); !fault.empty())
          return llvm::createStringError(where + fault);
        numbers.push_back(static_cast<int32_t>(number));
      }
    }
  }
  return numbers;
}

/// Each in the vocabulary or the number that stands for none.
static llvm::Expected<std::vector<int32_t>> readIds(llvm::StringRef file, llvm::StringRef text,
                                                    llvm::StringRef what, int64_t vocabulary,
                                                    std::optional<int64_t> none) {
  return readNumbers(file, text, what, [&](int64_t id) -> std::string {
    if ((id >= 0 && id < vocabulary) || id == none)
      return "";
    return ("is outside the vocabulary of " + llvm::Twine(vocabulary) +
            (none ? " and not " + llvm::Twine(*none) + ", which stands for no loss" : ""))
        .str();
  });
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

/// Files that stand beside the ids have as many numbers.
static llvm::Error checkCount(llvm::StringRef file, llvm::StringRef what, size_t count,
                              size_t ids) {
  if (count == ids)
    return llvm::Error::success();
  return llvm::createStringError("'" + file + "' has " + llvm::Twine(count) + " " + what +
                                 ", expected one for each of the " + llvm::Twine(ids) + " ids");
}

llvm::Error TokenFeed::readLabels(llvm::StringRef file, llvm::StringRef text) {
  llvm::Expected<std::vector<int32_t>> read =
      readIds(file, text, "label", shape.vocabulary, kNoLoss);
  if (!read)
    return read.takeError();
  labels = std::move(*read);
  if (shape.labelSeq == 0)
    return checkCount(file, "labels", labels.size(), all.size());
  size_t rows = all.size() / shape.seq, expected = rows * shape.labelSeq;
  if (all.size() % shape.seq == 0 && labels.size() == expected)
    return llvm::Error::success();
  return llvm::createStringError(
      "'" + file + "' has " + llvm::Twine(labels.size()) + " labels for " +
      llvm::Twine(all.size()) + " ids, expected rows of " + llvm::Twine(shape.labelSeq) +
      " labels for whole rows of " + llvm::Twine(shape.seq) + " ids: " + llvm::Twine(expected));
}

llvm::Error TokenFeed::readSegments(llvm::StringRef file, llvm::StringRef text) {
  llvm::Expected<std::vector<int32_t>> read =
      readNumbers(file, text, "segment", [](int64_t segment) {
        return llvm::isInt<32>(segment) ? "" : "is no number of 32 bits";
      });
  if (!read)
    return read.takeError();
  segments = std::move(*read);
  return checkCount(file, "segments", segments.size(), all.size());
}

size_t TokenFeed::beginOfRow(int64_t row) const {
  uint64_t length = all.size(), number = batch * shape.batch + shape.firstRow + row;
  if (shuffleSeed && shape.labelSeq > 0)
    return sampleWord(streamOf(*shuffleSeed, "rows of the text"), number) % (length / shape.seq) *
           shape.seq;
  if (shuffleSeed)
    return sampleWord(streamOf(*shuffleSeed, "places in the text"), number) %
           (length - shape.seq + 1);
  // Reduces the factors first, so that their product does not overflow.
  return (number % length) * (shape.seq % length) % length;
}

int32_t TokenFeed::at(const std::vector<int32_t> &file, size_t i) const {
  return file[(beginOfRow(i / shape.seq) + i % shape.seq) % file.size()];
}

int32_t TokenFeed::labelAt(size_t i) const {
  if (shape.labelSeq == 0)
    return at(labels.empty() ? all : labels, i);
  size_t row = beginOfRow(i / shape.labelSeq) / shape.seq;
  return labels[row * shape.labelSeq + i % shape.labelSeq];
}

bool TokenFeed::goesOn(size_t i) const {
  if ((i + 1) % shape.seq == 0)
    return false;
  if (segments.empty())
    return true;
  int32_t segment = at(segments, i);
  return segment >= 0 && at(segments, i + 1) == segment;
}

void TokenFeed::next(const Batch &to) {
  const std::vector<int32_t> &predicted = labels.empty() ? all : labels;
  for (size_t i = 0; i < to.ids.size(); ++i)
    to.ids[i] = at(all, i);
  for (size_t i = 0; i < to.targets.size(); ++i)
    to.targets[i] = goesOn(i) ? at(predicted, i + 1) : kNoLoss;
  for (size_t i = 0; i < to.labels.size(); ++i)
    to.labels[i] = labelAt(i);
  for (size_t i = 0; i < to.positions.size(); ++i)
    to.positions[i] = i > 0 && goesOn(i - 1) ? to.positions[i - 1] + 1 : 0;
  ++batch;
}

void TokenFeed::fill(ModelBuffers &buffers, int64_t number) {
  const StepRoles &roles = buffers.argumentRoles();
  auto tokens = [&](std::optional<unsigned> argument) {
    return argument ? buffers.integers(*argument) : llvm::MutableArrayRef<int32_t>();
  };
  seek(number);
  next({tokens(roles.ids), tokens(roles.targets), tokens(roles.labels), tokens(roles.positions)});
}

std::string TokenFeed::contentsHash() const {
  std::string hashes;
  for (const std::vector<int32_t> *numbers : {&all, &labels, &segments})
    hashes += hashText(
        {reinterpret_cast<const char *>(numbers->data()), numbers->size() * sizeof(int32_t)});
  return hashText(hashes);
}
