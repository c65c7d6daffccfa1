//===- FitTorch.h - What a step of PyTorch holds on a card ------*- C++ -*-===//
//
// Answers for models that PyTorch can trace, whether a family of llmmem-import has them or not:
// what each way to train holds, as PyTorch itself allocates it (python/llmmem/torch/_command.py).
// Python runs as a process, which traces the step on tensors without bytes and writes JSON.
//
// Example: a config of any family of transformers, one sequence, on a card of 24 * 10^9 bytes.
//
//   TorchRequest request{"config.json"};
//   request.ways = {"pytorch-eager", "ours"};
//   fitTorch(request, {"24GB", 24'000'000'000, 1'000'000'000, false})->ways[0].allocated
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_FIT_FITTORCH_H
#define LLMMEM_FIT_FITTORCH_H

#include "llmmem/Fit/Fit.h"
#include "llvm/Support/JSON.h"

namespace llmmem {

struct TorchRequest {
  std::string model;                 // "package.module:function", or the path of a config.json.
  std::vector<std::string> ways;     // Some of torchWays(); none stands for all.
  std::optional<int64_t> batch, seq; // None: 1 and 1024.
  std::string dtype;                 // As of --dtype; empty: the model's own.
  int64_t ranks = 8;                 // Hold the model together in ways that need several.
};

/// Says what one way to train holds at most, in any phase of the first and of a later step.
struct TorchWay {
  std::string name;
  int64_t allocated = 0; // Bytes of tensors, rounded as PyTorch's allocator does.
  int64_t reserved = 0;  // Bytes that the allocator has asked of the driver.
  std::string refused;   // Why nothing is known; empty where something is.
  bool fits = false;     // With what the card leaves to context and libraries.
};

struct TorchAnswer {
  Card card;
  TorchRequest request;
  std::vector<TorchWay> ways;
  llvm::json::Object prediction; // What Python wrote.
  bool fits = false;             // At least one way does.
};

/// Returns the names of the ways to train: pytorch-eager, pytorch-compiled, hf-checkpointing, ddp,
/// fsdp2, fsdp2-checkpointing, ours.
std::vector<llvm::StringRef> torchWays();

/// Splits the value of --as; `all` is all of them. Fails for a name that is none.
llvm::Expected<std::vector<std::string>> readTorchWays(llvm::StringRef text);

/// Asks PyTorch. Fails, by name, where there is no Python, where it has no PyTorch or no
/// transformers, and where the model cannot be made or traced. LLMMEM_PYTHON names the Python, else
/// it is python3 of PATH; `package` is the folder of the module llmmem where that is not installed.
llvm::Expected<TorchAnswer> fitTorch(const TorchRequest &request, const Card &card,
                                     llvm::StringRef package);

/// Print for people and for programs (docs/Design/Reports.md).
void printTorch(const TorchAnswer &answer, llvm::raw_ostream &os);
llvm::json::Value toJson(const TorchAnswer &answer);

} // namespace llmmem

#endif // LLMMEM_FIT_FITTORCH_H
