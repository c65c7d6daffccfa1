//===- TokenizerNone.cpp - Where there is no ICU ---------------------------===//

#include "llmmem/Tokenizers/Tokenizer.h"

using namespace llmmem;

struct Tokenizer::Parts {};
Tokenizer::Tokenizer(std::unique_ptr<Parts> parts) : parts(std::move(parts)) {}
Tokenizer::Tokenizer(Tokenizer &&) = default;
Tokenizer &Tokenizer::operator=(Tokenizer &&) = default;
Tokenizer::~Tokenizer() = default;

llvm::Expected<Tokenizer> Tokenizer::read(llvm::StringRef path) {
  return llvm::createStringError("'" + path +
                                 "' cannot be read: llmmem was built without ICU (libicu-dev)");
}

llvm::Expected<std::vector<int32_t>> Tokenizer::encode(llvm::StringRef) const {
  return std::vector<int32_t>();
}
std::string Tokenizer::decode(llvm::ArrayRef<int32_t>) const { return ""; }
int64_t Tokenizer::vocabulary() const { return 0; }
