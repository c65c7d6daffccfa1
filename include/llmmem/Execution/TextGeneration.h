//===- TextGeneration.h - Text from a trained model ------------------------===//
//
// A planned @forward gives logits for a whole window. Each new byte is sampled from those of the
// last position. Nothing is kept from token to token: at the sizes that a CPU trains, recomputing
// the whole window is cheap.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_EXECUTION_TEXTGENERATION_H
#define LLMMEM_EXECUTION_TEXTGENERATION_H

#include "llmmem/Execution/ModelBuffers.h"

namespace llmmem {

class TextGeneration {
public:
  struct Options {
    double temperature = 1.0; // The value 0 always chooses the most likely byte.
    uint64_t seed = 0;
  };

  /// Fails if the function takes targets, or does not return floats of [1, seq, vocabulary].
  static llvm::Expected<TextGeneration> create(const CompiledStep &forward, StepRoles roles);

  llvm::Expected<int64_t> load(const SafeTensors &file) { return buffers.loadParameters(file); }

  /// Returns the byte after `text`, given the last window of it, less one byte. Byte i of a text is
  /// sampled from (seed, i) alone. Ids beyond 255 are no bytes and are never sampled. `text` must
  /// not be empty.
  llvm::Expected<char> next(llvm::StringRef text, const Options &options);

private:
  explicit TextGeneration(ModelBuffers buffers) : buffers(std::move(buffers)) {}

  llvm::Expected<std::vector<double>> logitsAfter(llvm::StringRef window);

  ModelBuffers buffers;
};

} // namespace llmmem

#endif // LLMMEM_EXECUTION_TEXTGENERATION_H
