//===- PreTokenizer.cpp - A text cut into words that no merge crosses ------===//

#include "PreTokenizer.h"
#include "ByteAlphabet.h"
#include "llvm/ADT/StringSwitch.h"

using namespace llmmem::tokenizers;
namespace json = llvm::json;

/// This is the pattern of GPT-2's encoder (Radford et al. 2019).
static constexpr llvm::StringLiteral kByteLevelWords =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

//===----------------------------------------------------------------------===//
// Splitting
//===----------------------------------------------------------------------===//

namespace {
/// Says what becomes of matches. The names are those of the file.
enum class Behavior { Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous };

struct Range {
  size_t begin, end;
  bool isMatch;
};
} // namespace

static std::optional<Behavior> behaviorOf(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<Behavior>>(name)
      .Case("Removed", Behavior::Removed)
      .Case("Isolated", Behavior::Isolated)
      .Case("MergedWithPrevious", Behavior::MergedWithPrevious)
      .Case("MergedWithNext", Behavior::MergedWithNext)
      .Case("Contiguous", Behavior::Contiguous)
      .Default(std::nullopt);
}

/// Returns the text as matches and the text between them.
static llvm::Expected<std::vector<Range>> rangesOf(const Pattern &pattern, llvm::StringRef text,
                                                   bool invert) {
  std::vector<Range> ranges;
  size_t last = 0;
  llvm::Error error = pattern.forEachMatch(text, [&](size_t begin, size_t end) {
    if (begin > last)
      ranges.push_back({last, begin, invert});
    ranges.push_back({begin, end, !invert});
    last = end;
  });
  if (error)
    return std::move(error);
  if (last < text.size())
    ranges.push_back({last, text.size(), invert});
  return ranges;
}

static std::vector<Range> merge(llvm::ArrayRef<Range> ranges, Behavior behavior) {
  std::vector<Range> merged;
  for (auto [number, range] : llvm::enumerate(ranges)) {
    if (behavior == Behavior::Removed && range.isMatch)
      continue;
    const Range *before = number > 0 ? &ranges[number - 1] : nullptr;
    bool joins = false; // Says what was taken last.
    if (behavior == Behavior::Contiguous)
      joins = before && before->isMatch == range.isMatch;
    else if (behavior == Behavior::MergedWithPrevious)
      joins = before && range.isMatch && !before->isMatch;
    else if (behavior == Behavior::MergedWithNext)
      joins = before && before->isMatch && !range.isMatch;
    if (joins)
      merged.back().end = range.end;
    else
      merged.push_back(range);
  }
  return merged;
}

void PreTokenizer::addSplit(Pattern pattern, llvm::StringRef behavior, bool invert) {
  steps.emplace_back([pattern = std::move(pattern), how = *behaviorOf(behavior),
                      invert](const Word &word, Words &to) -> llvm::Error {
    llvm::Expected<std::vector<Range>> ranges = rangesOf(pattern, word.text, invert);
    if (!ranges)
      return ranges.takeError();
    for (const Range &range : merge(*ranges, how))
      to.push_back({word.text.substr(range.begin, range.end - range.begin),
                    word.isFirst && range.begin == 0});
    return llvm::Error::success();
  });
}

llvm::Error PreTokenizer::addSplit(llvm::StringRef regex, llvm::StringRef behavior, bool invert) {
  llvm::Expected<Pattern> pattern = Pattern::compile(regex);
  if (!pattern)
    return pattern.takeError();
  addSplit(std::move(*pattern), behavior, invert);
  return llvm::Error::success();
}

llvm::Error PreTokenizer::addSplit(const json::Object &part) {
  llvm::Expected<Pattern> pattern = patternOf(part);
  if (!pattern)
    return pattern.takeError();
  llvm::StringRef behavior = textOf(part, "behavior");
  if (!behaviorOf(behavior))
    return notSupported("behavior of a split", behavior,
                        "Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous");
  addSplit(std::move(*pattern), behavior, flagOf(part, "invert", false));
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Spelling
//===----------------------------------------------------------------------===//

llvm::Error PreTokenizer::addByteLevel(const json::Object &part) {
  if (flagOf(part, "add_prefix_space", true))
    steps.emplace_back([](Word word, Words &to) {
      if (word.text.front() != ' ')
        word.text.insert(0, " ");
      to.push_back(std::move(word));
      return llvm::Error::success();
    });
  if (flagOf(part, "use_regex", true))
    if (llvm::Error error = addSplit(kByteLevelWords, "Isolated"))
      return error;
  steps.emplace_back([](const Word &word, Words &to) {
    to.push_back({charactersOf(word.text), word.isFirst});
    return llvm::Error::success();
  });
  return llvm::Error::success();
}

/// Replaces spaces by a character, as SentencePiece does, and prepends one.
void PreTokenizer::addMetaspace(const json::Object &part) {
  std::string space = textOf(part, "replacement").str();
  llvm::StringRef scheme = textOf(part, "prepend_scheme");
  if (scheme.empty()) // Older files say it this way.
    scheme = flagOf(part, "add_prefix_space", true) ? "always" : "never";
  bool always = scheme == "always", first = scheme == "first";
  steps.emplace_back([=](const Word &word, Words &to) -> llvm::Error {
    llvm::Expected<std::string> text = Pattern::literal(" ").replaceAll(word.text, space);
    if (!text)
      return text.takeError();
    if ((always || (first && word.isFirst)) && !llvm::StringRef(*text).starts_with(space))
      text->insert(0, space);
    to.push_back({std::move(*text), word.isFirst});
    return llvm::Error::success();
  });
  if (flagOf(part, "split", true))
    addSplit(Pattern::literal(space), "MergedWithNext", /*invert=*/false);
}

//===----------------------------------------------------------------------===//
// Reading and applying
//===----------------------------------------------------------------------===//

llvm::Error PreTokenizer::add(const json::Object &part) {
  llvm::StringRef type = typeOf(part);
  if (type == "Split")
    return addSplit(part);
  if (type == "ByteLevel")
    return addByteLevel(part);
  if (type == "Digits")
    return addSplit(R"(\p{N})",
                    flagOf(part, "individual_digits", false) ? "Isolated" : "Contiguous");
  if (type == "Punctuation") {
    llvm::StringRef behavior = textOf(part, "behavior");
    return addSplit(R"([!-/:-@\[-`{-~\p{P}])", behaviorOf(behavior) ? behavior : "Isolated");
  }
  if (type == "Whitespace")
    return addSplit(R"(\w+|[^\w\s]+)", "Removed", /*invert=*/true);
  if (type == "WhitespaceSplit")
    return addSplit(R"(\s)", "Removed");
  if (type != "Metaspace")
    return notSupported("pre-tokenizer", type,
                        "Split, ByteLevel, Metaspace, Digits, Punctuation, Whitespace, "
                        "WhitespaceSplit, Sequence");
  addMetaspace(part);
  return llvm::Error::success();
}

llvm::Expected<PreTokenizer> PreTokenizer::read(const json::Object *part) {
  PreTokenizer preTokenizer;
  if (llvm::Error error = forEachPart(
          part, "pretokenizers", [&](const json::Object &step) { return preTokenizer.add(step); }))
    return std::move(error);
  return preTokenizer;
}

llvm::Expected<Words> PreTokenizer::apply(Word text) const {
  Words words;
  if (!text.text.empty())
    words.push_back(std::move(text));
  for (const Step &step : steps) {
    Words next;
    for (Word &word : words)
      if (llvm::Error error = step(std::move(word), next))
        return std::move(error);
    words = std::move(next);
  }
  return words;
}
