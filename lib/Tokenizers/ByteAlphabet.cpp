//===- ByteAlphabet.cpp - Bytes as characters that can be seen -------------===//

#include "ByteAlphabet.h"
#include "Unicode.h"
#include "llvm/ADT/StringMap.h"
#include <array>

namespace llmmem::tokenizers {

namespace {
struct Alphabet {
  std::array<std::string, 256> characters;
  llvm::StringMap<char> bytes;

  Alphabet() {
    unsigned next = 256;
    for (unsigned byte = 0; byte < 256; ++byte) {
      bool isSeen = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
      unsigned character = isSeen ? byte : next++;
      if (character < 0x80)
        characters[byte] = {static_cast<char>(character)};
      else
        characters[byte] = {static_cast<char>(0xC0 | character >> 6),
                            static_cast<char>(0x80 | (character & 0x3F))};
      bytes[characters[byte]] = static_cast<char>(byte);
    }
  }
};
} // namespace

static const Alphabet &alphabet() {
  static const Alphabet made;
  return made;
}

std::string charactersOf(llvm::StringRef bytes) {
  std::string characters;
  for (unsigned char byte : bytes)
    characters += alphabet().characters[byte];
  return characters;
}

std::optional<std::string> bytesOf(llvm::StringRef characters) {
  std::string bytes;
  while (!characters.empty()) {
    size_t length = lengthOfFirst(characters);
    auto byte = alphabet().bytes.find(characters.take_front(length));
    if (byte == alphabet().bytes.end())
      return std::nullopt;
    bytes += byte->second;
    characters = characters.drop_front(length);
  }
  return bytes;
}

} // namespace llmmem::tokenizers
