//===- Generate.cpp - A sample of what a model has learned -----------------===//

#include "Interrupt.h"
#include "RunOptions.h"
#include "llmmem/Execution/TextGeneration.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace llmmem;

Error llmmem::generate(PlannedFunction &forward, const RunOptions &options) {
  if (!options.tokenizerFile.empty())
    return createStringError("--tokenizer: a planned @forward writes bytes; import the model with "
                             "--mode decode");
  Expected<TextGeneration> generation = TextGeneration::create(*forward.compiled, forward.roles);
  if (!generation)
    return generation.takeError();
  Expected<SafeTensors> file = SafeTensors::read(options.loadFile);
  if (!file)
    return file.takeError();
  Expected<int64_t> loaded = generation->load(*file);
  if (!loaded)
    return createStringError("'" + options.loadFile + "': " + toString(loaded.takeError()));
  catchInterrupts();
  std::string text = options.prompts.front();
  outs() << text;
  for (int64_t count = 0; count < options.generate && !caughtInterrupt(); ++count) {
    Expected<char> next =
        generation->next(text, {options.sampling.temperature, options.seed.value_or(0)});
    if (!next)
      return next.takeError();
    text += *next;
    outs() << text.back();
    outs().flush();
  }
  outs() << "\n";
  return Error::success();
}
