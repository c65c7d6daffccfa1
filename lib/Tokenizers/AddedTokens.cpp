//===- AddedTokens.cpp - Tokens that a text may name -----------------------===//

#include "AddedTokens.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace llmmem::tokenizers;
namespace json = llvm::json;

static llvm::Expected<AddedToken> readToken(const json::Object &entry) {
  AddedToken token;
  token.content = textOf(entry, "content").str();
  std::optional<int64_t> id = entry.getInteger("id");
  if (token.content.empty() || !id || *id < 0 || *id > kLargestId)
    return llvm::createStringError("one of its added tokens has no content, or no id from 0 to " +
                                   llvm::Twine(kLargestId));
  if (flagOf(entry, "single_word", false))
    return llvm::createStringError("'single_word' of the added token '" + token.content +
                                   "' is not supported");
  token.id = static_cast<int32_t>(*id);
  token.isSpecial = flagOf(entry, "special", false);
  token.isNormalized = flagOf(entry, "normalized", !token.isSpecial);
  token.stripsLeft = flagOf(entry, "lstrip", false);
  token.stripsRight = flagOf(entry, "rstrip", false);
  return token;
}

llvm::Expected<AddedTokens> AddedTokens::read(const json::Object &file) {
  AddedTokens tokens;
  if (const json::Array *list = file.getArray("added_tokens"))
    for (const json::Value &entry : *list) {
      llvm::Expected<AddedToken> token =
          entry.getAsObject() ? readToken(*entry.getAsObject())
                              : llvm::createStringError("one of its added tokens is no object");
      if (!token)
        return token.takeError();
      tokens.all.push_back(std::move(*token));
    }
  return std::move(tokens);
}

llvm::Error AddedTokens::spell(const Normalizer &normalizer) {
  for (auto [number, token] : llvm::enumerate(all)) {
    llvm::Expected<std::string> text =
        token.isNormalized ? normalizer.apply(token.content) : token.content;
    if (!text)
      return text.takeError();
    if (text->empty())
      continue;
    begins[static_cast<unsigned char>(text->front())] = true;
    spellings.push_back({std::move(*text), number});
  }
  std::sort(spellings.begin(), spellings.end(), [](const Spelling &a, const Spelling &b) {
    return std::pair(b.text.size(), a.token) < std::pair(a.text.size(), b.token);
  });
  return llvm::Error::success();
}

const AddedTokens::Spelling *AddedTokens::longestAt(llvm::StringRef text, bool normalized) const {
  if (!begins[static_cast<unsigned char>(text.front())])
    return nullptr;
  for (const Spelling &spelling : spellings)
    if (all[spelling.token].isNormalized == normalized && text.starts_with(spelling.text))
      return &spelling;
  return nullptr;
}

std::vector<Piece> AddedTokens::split(llvm::StringRef text, bool normalized) const {
  std::vector<Piece> pieces;
  size_t end = 0; // The end of what is in `pieces`.
  for (size_t begin = 0; begin < text.size();) {
    const Spelling *found = longestAt(text.substr(begin), normalized);
    if (!found) {
      ++begin;
      continue;
    }
    const AddedToken &token = all[found->token];
    llvm::StringRef before = text.slice(end, begin);
    if (token.stripsLeft)
      before = before.drop_back(trailingSpace(before));
    if (!before.empty())
      pieces.push_back({before});
    pieces.push_back({found->text, &token});
    end = begin + found->text.size();
    if (token.stripsRight)
      end += spaceBefore(text.substr(end));
    begin = end;
  }
  if (end < text.size())
    pieces.push_back({text.substr(end)});
  return pieces;
}
