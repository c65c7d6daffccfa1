//===- Decoder.cpp - Tokens as text ----------------------------------------===//

#include "Decoder.h"
#include "ByteAlphabet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"

using namespace llmmem::tokenizers;
namespace json = llvm::json;
using Tokens = std::vector<std::string>;

static void fuse(Tokens &tokens) {
  std::string all = llvm::join(tokens, "");
  tokens = {std::move(all)};
}

/// A token with a character that represents no byte is text itself.
static void decodeByteLevel(Tokens &tokens) {
  for (std::string &token : tokens)
    if (std::optional<std::string> bytes = bytesOf(token))
      token = std::move(*bytes);
  fuse(tokens);
  tokens.front() = replaceInvalid(tokens.front());
}

/// Returns the byte of "<0x0A>"; nothing for another token.
static std::optional<char> byteOf(llvm::StringRef token) {
  unsigned byte = 0;
  if (token.size() != 6 || !token.consume_front("<0x") || !token.consume_back(">") ||
      token.getAsInteger(16, byte))
    return std::nullopt;
  return static_cast<char>(byte);
}

/// Adjacent bytes that are no UTF-8 each become U+FFFD.
static void decodeBytes(Tokens &tokens) {
  Tokens decoded;
  std::string bytes;
  auto end = [&] {
    const auto *begin = reinterpret_cast<const llvm::UTF8 *>(bytes.data());
    if (llvm::isLegalUTF8String(&begin, begin + bytes.size()))
      decoded.push_back(bytes);
    else
      decoded.insert(decoded.end(), bytes.size(), "\xEF\xBF\xBD");
    bytes.clear();
  };
  for (std::string &token : tokens) {
    if (std::optional<char> byte = byteOf(token)) {
      bytes += *byte;
      continue;
    }
    end();
    decoded.push_back(std::move(token));
  }
  end();
  tokens = std::move(decoded);
}

/// Removes `content`, which is one character, up to this number of times from either end.
static void strip(Tokens &tokens, llvm::StringRef content, int64_t start, int64_t stop) {
  for (std::string &token : tokens) {
    llvm::StringRef text = token;
    for (int64_t count = 0; count < start && text.consume_front(content); ++count)
      ;
    for (int64_t count = 0; count < stop && text.consume_back(content); ++count)
      ;
    token = text.str();
  }
}

/// Replaces the replacement by a space, except for the one that was prepended.
static void decodeMetaspace(Tokens &tokens, llvm::StringRef space, bool isPrepended) {
  for (auto [number, token] : llvm::enumerate(tokens)) {
    llvm::StringRef by = number == 0 && isPrepended ? "" : " ";
    token = llvm::cantFail(Pattern::literal(space).replaceAll(token, by));
  }
}

llvm::Error Decoder::add(const json::Object &part) {
  llvm::StringRef type = typeOf(part);
  if (type == "ByteLevel") {
    steps.emplace_back(decodeByteLevel);
  } else if (type == "ByteFallback") {
    steps.emplace_back(decodeBytes);
  } else if (type == "Fuse") {
    steps.emplace_back(fuse);
  } else if (type == "Strip") {
    steps.emplace_back([content = textOf(part, "content").str(),
                        start = part.getInteger("start").value_or(0),
                        stop = part.getInteger("stop").value_or(0)](Tokens &tokens) {
      strip(tokens, content, start, stop);
    });
  } else if (type == "Replace") {
    llvm::Expected<Pattern> pattern = patternOf(part);
    if (!pattern)
      return pattern.takeError();
    steps.emplace_back([pattern = *pattern, by = textOf(part, "content").str()](Tokens &tokens) {
      for (std::string &token : tokens)
        if (llvm::Expected<std::string> replaced = pattern.replaceAll(token, by))
          token = std::move(*replaced);
        else
          llvm::consumeError(replaced.takeError());
    });
  } else if (type == "Metaspace") {
    bool isPrepended = textOf(part, "prepend_scheme").empty()
                           ? flagOf(part, "add_prefix_space", true)
                           : textOf(part, "prepend_scheme") != "never";
    steps.emplace_back([=, space = textOf(part, "replacement").str()](Tokens &tokens) {
      decodeMetaspace(tokens, space, isPrepended);
    });
  } else {
    return notSupported("decoder", type,
                        "ByteLevel, ByteFallback, Fuse, Strip, Replace, Metaspace, Sequence");
  }
  return llvm::Error::success();
}

llvm::Expected<Decoder> Decoder::read(const json::Object *part) {
  Decoder decoder;
  if (llvm::Error error = forEachPart(part, "decoders",
                                      [&](const json::Object &step) { return decoder.add(step); }))
    return std::move(error);
  return decoder;
}

std::string Decoder::apply(Tokens tokens) const {
  if (steps.empty())
    return llvm::join(tokens, " ");
  for (const Step &step : steps)
    step(tokens);
  return llvm::join(tokens, "");
}
