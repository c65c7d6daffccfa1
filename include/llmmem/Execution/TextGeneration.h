//===- TextGeneration.h - Text from a trained model ------------------------===//
//
// A planned @forward gives logits for a whole window; each new byte is drawn from those of the last
// position. Nothing is kept from token to token: at the sizes that a CPU trains, the whole window
// is soon computed again.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_EXECUTION_TEXTGENERATION_H
#define LLMMEM_EXECUTION_TEXTGENERATION_H

#include "llmmem/Execution/ModelBuffers.h"

namespace llmmem {

class TextGeneration {
public:
  struct Options {
    double temperature = 1.0; // 0: always the likeliest byte
    uint64_t seed = 0;
  };

  /// Fails where the function takes targets, or gives no [1, seq, vocabulary] of floats.
  static llvm::Expected<TextGeneration> create(const CompiledStep &forward, StepRoles roles);

  llvm::Expected<int64_t> load(const SafeTensors &file) { return buffers.loadParameters(file); }

  /// The byte after `text`, of which the last window, less one, counts: byte i of a text is drawn
  /// by (seed, i) alone. Ids beyond 255 are no bytes and are never drawn. Needs a text that is not
  /// empty.
  llvm::Expected<char> next(llvm::StringRef text, const Options &options);

private:
  explicit TextGeneration(ModelBuffers buffers) : buffers(std::move(buffers)) {}

  llvm::Expected<std::vector<double>> logitsAfter(llvm::StringRef window);

  ModelBuffers buffers;
};

} // namespace llmmem

#endif // LLMMEM_EXECUTION_TEXTGENERATION_H
