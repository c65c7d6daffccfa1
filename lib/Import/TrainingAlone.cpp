//===- TrainingAlone.cpp - What a program for inference has nothing of -----===//
//
// Public configs say how the model was trained: dropouts, noise of routers. The public library
// applies them only in training (`train()`), and so does an import: all keys of that kind are read
// here, and are 0 in every mode except `Mode::Train`. Losses, including those for the balance of
// experts, for smoothing or for the size of logits, belong to @loss, which no other mode has.
// `llmmem-import` refuses flags that say how to train in the other modes.
//
//===----------------------------------------------------------------------===//

#include "ImportChecks.h"
#include "llmmem/Dialect/LlmAnnotations.h"

using namespace llmmem;
using namespace llmmem::importer;
using llvm::StringRef;

double importer::readDropout(ConfigReader &config, const ImportOptions &options, StringRef key,
                             double fallback) {
  // The key is read in any case: a wrong value is an error whatever the flags say.
  double own = config.probabilityOr(key, fallback);
  return options.trains() ? options.dropout.value_or(own) : 0.0;
}

void importer::expectNoNoise(ConfigReader &config, const ImportOptions &options, StringRef key) {
  if (options.trains())
    return config.onlyZero(key);
  config.realFromZeroOr(key, 0);
}

llvm::Error importer::checkInference(mlir::func::FuncOp function, const ModelFacts &facts) {
  for (mlir::BlockArgument argument : function.getArguments())
    if (llm::readRole(function, argument.getArgNumber()) == llm::Role::Seed)
      return llvm::createStringError(
          facts.file + ": the model was read for training, and its dropout has no place in @" +
          function.getName() + "; read it with the options that its graph is built with");
  return llvm::Error::success();
}
