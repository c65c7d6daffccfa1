//===- BytePairs.cpp - Pairs merged by rank --------------------------------===//

#include "BytePairs.h"
#include "TokenizerFile.h"
#include "llvm/Support/FormatVariadic.h"
#include <queue>

using namespace llmmem::tokenizers;
namespace json = llvm::json;

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

llvm::Error BytePairs::readVocabulary(const json::Object &model) {
  const json::Object *vocabulary = model.getObject("vocab");
  if (!vocabulary)
    return llvm::createStringError("its model has no 'vocab'");
  for (const auto &[token, number] : *vocabulary) {
    std::optional<int64_t> id = number.getAsInteger();
    if (!id || *id < 0 || *id > kLargestId)
      return llvm::createStringError("its token '" + token.str() + "' has no id from 0 to " +
                                     llvm::Twine(kLargestId));
    ids[token.str()] = static_cast<int32_t>(*id);
  }
  llvm::StringRef token = textOf(model, "unk_token");
  auto known = ids.find(token);
  if (!token.empty() && known == ids.end())
    return llvm::createStringError("its unknown token '" + token + "' is not in its vocabulary");
  unknown = token.empty() ? -1 : known->second;
  return llvm::Error::success();
}

llvm::Error BytePairs::addMerge(llvm::StringRef left, llvm::StringRef right) {
  auto a = ids.find(left), b = ids.find(right), both = ids.find((left + right).str());
  if (a == ids.end() || b == ids.end() || both == ids.end())
    return llvm::createStringError("its merge of '" + left + "' and '" + right +
                                   "' is not in its vocabulary");
  uint64_t pair = static_cast<uint64_t>(a->second) << 32 | static_cast<uint32_t>(b->second);
  merges[pair] = {static_cast<uint32_t>(merges.size()), both->second};
  return llvm::Error::success();
}

/// The merges are ["a b", ...] or, in newer files, [["a", "b"], ...].
llvm::Error BytePairs::readMerges(const json::Object &model) {
  const json::Array *list = model.getArray("merges");
  if (!list)
    return llvm::createStringError("its model has no 'merges'");
  for (const json::Value &merge : *list) {
    llvm::StringRef left, right;
    if (std::optional<llvm::StringRef> text = merge.getAsString())
      std::tie(left, right) = text->split(' ');
    else if (const json::Array *pair = merge.getAsArray(); pair && pair->size() == 2)
      left = (*pair)[0].getAsString().value_or(""), right = (*pair)[1].getAsString().value_or("");
    if (left.empty() || right.empty())
      return llvm::createStringError("one of its merges is no pair of tokens");
    if (llvm::Error error = addMerge(left, right))
      return error;
  }
  return llvm::Error::success();
}

llvm::Expected<BytePairs> BytePairs::read(const json::Object &model) {
  if (typeOf(model) != "BPE")
    return notSupported("model", typeOf(model), "BPE; llmmem-run --tokens takes ids");
  for (llvm::StringRef key : {"continuing_subword_prefix", "end_of_word_suffix"})
    if (!textOf(model, key).empty())
      return llvm::createStringError("'" + key + "' of its model is not supported");
  BytePairs pairs;
  pairs.fusesUnknown = flagOf(model, "fuse_unk", false);
  pairs.fallsBackToBytes = flagOf(model, "byte_fallback", false);
  pairs.ignoresMerges = flagOf(model, "ignore_merges", false);
  if (llvm::Error error = pairs.readVocabulary(model))
    return std::move(error);
  if (llvm::Error error = pairs.readMerges(model))
    return std::move(error);
  return std::move(pairs);
}

//===----------------------------------------------------------------------===//
// Encoding
//===----------------------------------------------------------------------===//

const BytePairs::Merge *BytePairs::find(int32_t left, int32_t right) const {
  auto merge = merges.find(static_cast<uint64_t>(left) << 32 | static_cast<uint32_t>(right));
  return merge == merges.end() ? nullptr : &merge->second;
}

/// Adds <0xE2> and the like for each byte, or for none.
bool BytePairs::addBytes(llvm::StringRef character, std::vector<int32_t> &to) const {
  std::vector<int32_t> bytes;
  for (unsigned char byte : character) {
    auto id = ids.find(llvm::formatv("<0x{0:X-2}>", static_cast<unsigned>(byte)).str());
    if (id == ids.end())
      return false;
    bytes.push_back(id->second);
  }
  llvm::append_range(to, bytes);
  return true;
}

std::vector<int32_t> BytePairs::charactersOf(llvm::StringRef word) const {
  std::vector<int32_t> characters;
  bool isAfterUnknown = false;
  while (!word.empty()) {
    llvm::StringRef character = word.take_front(lengthOfFirst(word));
    word = word.drop_front(character.size());
    auto id = ids.find(character);
    bool isKnown = id != ids.end();
    if (isKnown)
      characters.push_back(id->second);
    else if (fallsBackToBytes && addBytes(character, characters))
      continue;
    else if (unknown >= 0 && !(fusesUnknown && isAfterUnknown))
      characters.push_back(unknown);
    isAfterUnknown = !isKnown;
  }
  return characters;
}

/// The word is a list of symbols, each with the places of its neighbours. A pair in the heap is out
/// of date where one of its symbols has been merged since.
void BytePairs::mergePairs(std::vector<int32_t> &word) const {
  struct Pair {
    uint32_t rank;
    size_t left;
    int32_t leftId, rightId;
    bool operator>(const Pair &other) const {
      return std::tie(rank, left) > std::tie(other.rank, other.left);
    }
  };
  constexpr size_t kNone = ~size_t{0};
  std::vector<size_t> next(word.size()), previous(word.size());
  for (size_t place = 0; place < word.size(); ++place)
    previous[place] = place - 1, next[place] = place + 1 < word.size() ? place + 1 : kNone;
  std::priority_queue<Pair, std::vector<Pair>, std::greater<>> waiting;
  auto wait = [&](size_t left) {
    if (left == kNone || next[left] == kNone)
      return;
    if (const Merge *merge = find(word[left], word[next[left]]))
      waiting.push({merge->rank, left, word[left], word[next[left]]});
  };
  for (size_t place = 0; place < word.size(); ++place)
    wait(place);
  while (!waiting.empty()) {
    const Pair pair = waiting.top();
    waiting.pop();
    size_t right = next[pair.left];
    if (right == kNone || word[pair.left] != pair.leftId || word[right] != pair.rightId)
      continue;
    word[pair.left] = find(pair.leftId, pair.rightId)->merged;
    word[right] = -1;
    next[pair.left] = next[right];
    if (next[right] != kNone)
      previous[next[right]] = pair.left;
    wait(previous[pair.left]);
    wait(pair.left);
  }
  llvm::erase(word, -1);
}

void BytePairs::encode(llvm::StringRef word, std::vector<int32_t> &to) const {
  if (ignoresMerges)
    if (auto whole = ids.find(word); whole != ids.end()) {
      to.push_back(whole->second);
      return;
    }
  std::vector<int32_t> symbols = charactersOf(word);
  mergePairs(symbols);
  llvm::append_range(to, symbols);
}
