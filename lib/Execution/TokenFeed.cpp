//===- TokenFeed.cpp - Batches of token ids from text ----------------------===//

#include "llmmem/Execution/TokenFeed.h"
#include "llmmem/Execution/CounterSamples.h"
#include "llmmem/Execution/SafeTensors.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llmmem;

/// The public library ignores this target in a loss.
static constexpr int32_t kNoLoss = -100;

/// Training reads the text to its end, and a file that is truncated or written to meanwhile would
/// change a mapped one. A larger file stays mapped, so that ranks of a machine share its pages.
static std::unique_ptr<llvm::MemoryBuffer> withoutFile(std::unique_ptr<llvm::MemoryBuffer> text) {
  constexpr size_t kMostCopied = size_t(1) << 30;
  if (text->getBufferKind() != llvm::MemoryBuffer::MemoryBuffer_MMap ||
      text->getBufferSize() > kMostCopied)
    return text;
  std::unique_ptr<llvm::MemoryBuffer> copy =
      llvm::MemoryBuffer::getMemBufferCopy(text->getBuffer(), text->getBufferIdentifier());
  return copy ? std::move(copy) : std::move(text);
}

llvm::Expected<TokenFeed>
TokenFeed::fromText(llvm::StringRef file, std::unique_ptr<llvm::MemoryBuffer> text, Shape shape) {
  if (text->getBufferSize() < static_cast<size_t>(shape.size()))
    return llvm::createStringError("'" + file + "' has " + llvm::Twine(text->getBufferSize()) +
                                   " bytes; one batch of " + llvm::Twine(shape.batch) + " x " +
                                   llvm::Twine(shape.seq) + " needs " + llvm::Twine(shape.size()));
  TokenFeed feed(shape);
  feed.bytes = withoutFile(std::move(text));
  for (uint32_t byte = 0; byte < 256; ++byte) {
    // Fibonacci hashing separates neighbouring letters.
    uint32_t hash = (byte * 2654435769u) >> 8;
    feed.idOfByte.push_back(shape.vocabulary >= 256
                                ? static_cast<int32_t>(byte)
                                : static_cast<int32_t>(hash % shape.vocabulary));
  }
  return std::move(feed);
}

static bool isWhite(char c) { return llvm::isSpace(c); }

/// Counts the words that white space separates.
static size_t countWords(llvm::StringRef text) {
  size_t count = 0;
  bool isBetween = true;
  for (char c : text) {
    count += isBetween && !isWhite(c);
    isBetween = isWhite(c);
  }
  return count;
}

static constexpr size_t kLongestNumber = 40;

/// Returns the word at the front, limited to the length that a number can have.
static llvm::StringRef firstWord(llvm::StringRef text) {
  return text.take_front(kLongestNumber + 1).take_until(isWhite);
}

/// Reads numbers separated by white space. `expected` says what one should have been, or nothing
/// where it is right.
static llvm::Expected<std::vector<int32_t>>
readNumbers(llvm::StringRef file, llvm::StringRef text, llvm::StringRef what,
            llvm::function_ref<std::string(int64_t)> expected) {
  std::vector<int32_t> numbers;
  auto fail = [&](llvm::StringRef word, const llvm::Twine &why) {
    const size_t line = text.drop_back(text.end() - word.begin()).count('\n') + 1;
    std::string quoted;
    llvm::raw_string_ostream os(quoted);
    llvm::printEscapedString(word.take_front(kLongestNumber), os);
    return llvm::createStringError(file + ":" + llvm::Twine(line) + ": " + what + " " +
                                   llvm::Twine(numbers.size() + 1) + ", '" + quoted + "', " + why);
  };
  // The first is checked before all are counted, so a file of something else ends here.
  for (llvm::StringRef rest = text.drop_while(isWhite); !rest.empty();
       rest = rest.drop_while(isWhite)) {
    const llvm::StringRef word = firstWord(rest);
    int64_t number = 0;
    if (word.size() > kLongestNumber)
      return fail(word,
                  "is not a number of at most " + llvm::Twine(kLongestNumber) + " characters");
    if (word.getAsInteger(10, number))
      return fail(word, "is not a number");
    if (std::string fault = expected(number); !fault.empty())
      return fail(word, fault);
    if (numbers.empty())
      numbers.reserve(countWords(rest));
    numbers.push_back(static_cast<int32_t>(number));
    rest = rest.drop_front(word.size());
  }
  return numbers;
}

/// Reads ids, each in the vocabulary or the number that means none.
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
  return fromIds(file, std::move(*ids), shape);
}

llvm::Expected<TokenFeed> TokenFeed::fromIds(llvm::StringRef file, std::vector<int32_t> ids,
                                             Shape shape) {
  for (auto [number, id] : llvm::enumerate(ids))
    if (id < 0 || id >= shape.vocabulary)
      return llvm::createStringError("'" + file + "': id " + llvm::Twine(number + 1) + ", '" +
                                     llvm::Twine(id) + "', is outside the vocabulary of " +
                                     llvm::Twine(shape.vocabulary));
  if (ids.size() < static_cast<size_t>(shape.size()))
    return llvm::createStringError("'" + file + "' has " + llvm::Twine(ids.size()) +
                                   " ids; one batch of " + llvm::Twine(shape.batch) + " x " +
                                   llvm::Twine(shape.seq) + " needs " + llvm::Twine(shape.size()));
  TokenFeed feed(shape);
  feed.ids = std::move(ids);
  return std::move(feed);
}

/// Files that accompany the ids have as many numbers.
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
    return checkCount(file, "labels", labels.size(), numIds());
  size_t rows = numIds() / shape.seq, expected = rows * shape.labelSeq;
  if (numIds() % shape.seq == 0 && labels.size() == expected)
    return llvm::Error::success();
  return llvm::createStringError(
      "'" + file + "' has " + llvm::Twine(labels.size()) + " labels for " + llvm::Twine(numIds()) +
      " ids, expected rows of " + llvm::Twine(shape.labelSeq) + " labels for whole rows of " +
      llvm::Twine(shape.seq) + " ids: " + llvm::Twine(expected));
}

llvm::Error TokenFeed::readSegments(llvm::StringRef file, llvm::StringRef text) {
  llvm::Expected<std::vector<int32_t>> read =
      readNumbers(file, text, "segment", [](int64_t segment) {
        return llvm::isInt<32>(segment) ? "" : "is no number of 32 bits";
      });
  if (!read)
    return read.takeError();
  segments = std::move(*read);
  return checkCount(file, "segments", segments.size(), numIds());
}

size_t TokenFeed::beginOfRow(int64_t row) const {
  uint64_t length = numIds(), number = batch * shape.batch + shape.firstRow + row;
  if (shuffleSeed && shape.labelSeq > 0)
    return llmmem_sample_word(streamOf(*shuffleSeed, "rows of the text"), number) %
           (length / shape.seq) * shape.seq;
  if (shuffleSeed)
    return llmmem_sample_word(streamOf(*shuffleSeed, "places in the text"), number) %
           (length - shape.seq + 1);
  // Reduces the factors first, so that their product does not overflow.
  return (number % length) * (shape.seq % length) % length;
}

int32_t TokenFeed::idAt(size_t place) const {
  return bytes ? idOfByte[static_cast<unsigned char>(bytes->getBufferStart()[place])] : ids[place];
}

size_t TokenFeed::placeOf(size_t i, size_t numbers) const {
  return (beginOfRow(i / shape.seq) + i % shape.seq) % numbers;
}

int32_t TokenFeed::predictedAt(size_t i) const {
  return labels.empty() ? idAt(placeOf(i, numIds())) : labels[placeOf(i, labels.size())];
}

int32_t TokenFeed::labelAt(size_t i) const {
  if (shape.labelSeq == 0)
    return predictedAt(i);
  size_t row = beginOfRow(i / shape.labelSeq) / shape.seq;
  return labels[row * shape.labelSeq + i % shape.labelSeq];
}

bool TokenFeed::goesOn(size_t i) const {
  if ((i + 1) % shape.seq == 0)
    return false;
  if (segments.empty())
    return true;
  int32_t segment = segments[placeOf(i, segments.size())];
  return segment >= 0 && segments[placeOf(i + 1, segments.size())] == segment;
}

size_t TokenFeed::positionOf(size_t i, size_t length) const {
  const size_t share = length / shape.parts;
  return i / share * length + shape.part * share + i % share;
}

int32_t TokenFeed::countBefore(size_t i) const {
  int32_t count = 0;
  for (; i > 0 && goesOn(i - 1); --i)
    ++count;
  return count;
}

void TokenFeed::next(const Batch &to) {
  const size_t share = shape.seq / shape.parts;
  for (size_t i = 0; i < to.ids.size(); ++i)
    to.ids[i] = idAt(placeOf(positionOf(i, shape.seq), numIds()));
  for (size_t i = 0; i < to.targets.size(); ++i) {
    const size_t position = positionOf(i, shape.seq);
    to.targets[i] = goesOn(position) ? predictedAt(position + 1) : kNoLoss;
  }
  for (size_t i = 0; i < to.labels.size(); ++i)
    to.labels[i] = labelAt(positionOf(i, shape.labelSeq ? shape.labelSeq : shape.seq));
  for (size_t i = 0; i < to.positions.size(); ++i) {
    const size_t position = positionOf(i, shape.seq);
    to.positions[i] = i % share == 0         ? countBefore(position)
                      : goesOn(position - 1) ? to.positions[i - 1] + 1
                                             : 0;
  }
  ++batch;
}

std::string TokenFeed::contentsHash() const {
  std::string hashes = hashText(bytes ? bytes->getBuffer() : "");
  for (const std::vector<int32_t> *numbers : {&ids, &labels, &segments})
    hashes += hashText(
        {reinterpret_cast<const char *>(numbers->data()), numbers->size() * sizeof(int32_t)});
  return hashText(hashes);
}
