//===- RotaryDecoder.h - What Llama, Mistral and Qwen2 share ----*- C++ -*-===//
//
// RMS norms before attention and MLP, rotary positions, grouped key/value heads, a gated MLP. The
// families differ in biases, in the window of attention and in a few defaults, and say so in a
// RotaryTraits.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_IMPORT_ROTARYDECODER_H
#define LLMMEM_LIB_IMPORT_ROTARYDECODER_H

#include "llmmem/Import/Model.h"

namespace llmmem::importer {

struct RotaryTraits {
  bool inputBias = false;  ///< on the projections to q, k and v
  bool outputBias = false; ///< on the projection back
  bool mlpBias = false;
  /// Keys further back than this are hidden, in layers from `firstWindowLayer` on.
  std::optional<int64_t> window;
  int64_t firstWindowLayer = 0;
  /// A config without num_key_value_heads has as many as heads; else the key is required.
  bool defaultKvHeads = false;
};

std::unique_ptr<Model> readRotaryDecoder(ConfigReader &config, const ImportOptions &options,
                                         const RotaryTraits &traits);

} // namespace llmmem::importer

#endif // LLMMEM_LIB_IMPORT_ROTARYDECODER_H
