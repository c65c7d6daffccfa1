//===- SafeTensors.cpp - Whatever checkpoint is read tiles its file ----------------===//

#include "llmmem/Execution/SafeTensors.h"
#include "Readers.h"

using namespace llmmem;

void fuzz::readSafeTensors(llvm::StringRef bytes) {
  // A copy of its own: reading past its end is then found.
  auto buffer = llvm::MemoryBuffer::getMemBufferCopy(bytes, "weights.safetensors");
  llvm::Expected<SafeTensors> tensors = SafeTensors::parse(std::move(buffer));
  if (!tensors)
    return require(!llvm::toString(tensors.takeError()).empty());
  size_t total = 0;
  unsigned sum = 0;
  for (const TensorEntry &tensor : tensors->tensors()) {
    require(tensors->find(tensor.name) == &tensor);
    total += tensor.bytes.size();
    for (char byte : tensor.bytes)
      sum += static_cast<unsigned char>(byte);
  }
  require(total <= bytes.size() && sum <= 255u * bytes.size());
  static_cast<void>(tensors->metadata("format"));
}
