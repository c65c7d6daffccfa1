//===- GenerateCached.cpp - Tokens from steps with caches -------------------===//

#include "CompareRanks.h"
#include "Interrupt.h"
#include "ReadTokenizer.h"
#include "WriteProfile.h"
#include "llmmem/Execution/CachedGeneration.h"
#include "llmmem/Execution/CounterSamples.h"
#include "llmmem/Execution/RankJob.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>

using namespace llvm;
using namespace llmmem;
using Clock = std::chrono::steady_clock;

namespace {

double secondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Reads "1,2,3" of one prompt.
Expected<CachedGeneration::Tokens> readTokens(StringRef text) {
  CachedGeneration::Tokens tokens;
  SmallVector<StringRef> parts;
  text.split(parts, ',');
  for (StringRef part : parts) {
    int32_t token = 0;
    if (part.trim().getAsInteger(10, token) || token < 0)
      return createStringError("--tokens: '" + part +
                               "' is no token; expected numbers from 0 up, "
                               "separated by commas, and prompts by semicolons: 1,2,3;4,5");
    tokens.push_back(token);
  }
  return tokens;
}

Expected<std::vector<CachedGeneration::Tokens>> encodePrompts(const RunOptions &options,
                                                              const Tokenizer &tokenizer) {
  std::vector<CachedGeneration::Tokens> prompts;
  for (const std::string &prompt : options.prompts) {
    Expected<std::vector<int32_t>> ids = encodeText(tokenizer, "--prompt", prompt);
    if (!ids)
      return ids.takeError();
    if (ids->empty())
      return createStringError("--prompt: '" + prompt + "' has no tokens; expected one at least");
    prompts.emplace_back(ids->begin(), ids->end());
  }
  return prompts;
}

Expected<std::vector<CachedGeneration::Tokens>>
readPrompts(const RunOptions &options, const std::optional<Tokenizer> &tokenizer) {
  if (tokenizer)
    return encodePrompts(options, *tokenizer);
  std::vector<CachedGeneration::Tokens> prompts;
  if (!options.tokensFile) {
    for (const std::string &prompt : options.prompts)
      prompts.emplace_back(arrayRefFromStringRef(prompt).begin(),
                           arrayRefFromStringRef(prompt).end());
    return prompts;
  }
  SmallVector<StringRef> texts;
  StringRef(*options.tokensFile).split(texts, ';');
  for (StringRef text : texts) {
    Expected<CachedGeneration::Tokens> tokens = readTokens(text);
    if (!tokens)
      return tokens.takeError();
    prompts.push_back(std::move(*tokens));
  }
  return prompts;
}

/// Ranks end after the same token, where any of them was interrupted.
bool isInterrupted() {
  return any_of(RankJob::gather({caughtInterrupt()}), [](int64_t signal) { return signal != 0; });
}

/// All ranks of a job choose the same tokens, and the first one writes.
class Writer {
public:
  Writer(CachedGeneration &run, const RunOptions &options,
         const std::optional<Tokenizer> &tokenizer, std::vector<CachedGeneration::Tokens> prompts)
      : run(run), options(options), tokenizer(tokenizer), prompts(std::move(prompts)),
        written(this->prompts.size()), ends(this->prompts.size()),
        profile(run.model().compiled().profiledCalls()) {}

  Error write() {
    Clock::time_point begin = Clock::now();
    if (Error error = run.feed(prompts))
      return error;
    promptSeconds = secondsSince(begin);
    begin = Clock::now();
    for (int64_t count = 0; count < options.generate && !isInterrupted(); ++count) {
      std::vector<CachedGeneration::Tokens> chosen = choose();
      bool isLast = count + 1 == options.generate;
      if (all_of(chosen, [](const auto &list) { return list.empty(); }) || isLast)
        break;
      if (Error error = run.feed(chosen))
        return error;
      ++steps;
      if (isProfiled())
        profile.add(run.model().stepMemory().callTimes());
    }
    tokenSeconds = secondsSince(begin);
    if (RankJob::rank() == 0)
      if (Error error = report())
        return error;
    // A file of tensors is written by all ranks of a job together.
    return options.logitsFile.empty() ? Error::success() : saveLogits();
  }

private:
  Error report() {
    print();
    printSpeed();
    return isProfiled() ? writeProfile() : Error::success();
  }

  bool isText() const { return !options.tokensFile; }
  bool isProfiled() const { return !run.model().compiled().profiledCalls().empty(); }
  /// Ids beyond the bytes, or beyond the tokenizer's, are never chosen of a text.
  ArrayRef<double> choices(size_t sequence) {
    ArrayRef<double> logits = run.logits(static_cast<int64_t>(sequence));
    if (!isText())
      return logits;
    return logits.take_front(tokenizer ? tokenizer->vocabulary() : 256);
  }
  /// Decodes a prompt and what follows it together, as a decoder may treat the first token in its
  /// own way.
  std::string textOf(size_t sequence) const {
    if (!tokenizer)
      return options.prompts[sequence] +
             std::string(written[sequence].begin(), written[sequence].end());
    CachedGeneration::Tokens all = prompts[sequence];
    append_range(all, written[sequence]);
    return tokenizer->decode(all);
  }

  /// Returns the next token of each sequence that goes on. It is sampled from (seed, the number of
  /// the sequence and the position in it) alone.
  std::vector<CachedGeneration::Tokens> choose() {
    std::vector<CachedGeneration::Tokens> chosen(prompts.size());
    for (size_t sequence = 0; sequence < prompts.size(); ++sequence) {
      if (!ends[sequence].empty())
        continue;
      ArrayRef<double> logits = choices(sequence);
      int64_t length = run.lengthOf(static_cast<int64_t>(sequence));
      uint64_t stream = streamOf(options.seed.value_or(0), ("generate." + Twine(sequence)).str());
      int32_t token = chooseToken(logits, options.sampling,
                                  llmmem_sample_uniform(stream, static_cast<uint64_t>(length)));
      written[sequence].push_back(token);
      if (!options.logitsFile.empty())
        rows[sequence].push_back(run.logits(static_cast<int64_t>(sequence)).vec());
      if (is_contained(options.stop, token))
        ends[sequence] = "stop";
      else if (length == run.context())
        ends[sequence] = "context";
      else
        chosen[sequence] = {token};
    }
    return chosen;
  }

  void print() {
    for (size_t sequence = 0; sequence < prompts.size(); ++sequence) {
      if (options.asJson)
        printJson(sequence);
      else if (isText())
        outs() << textOf(sequence) << "\n";
      else
        outs() << join(map_range(written[sequence], [](int32_t id) { return std::to_string(id); }),
                       ",")
               << "\n";
    }
    outs().flush();
  }

  void printJson(size_t sequence) {
    std::string end = ends[sequence].empty() ? "count" : ends[sequence];
    json::Object line{{"sequence", static_cast<int64_t>(sequence)},
                      {"prompt", json::Array(prompts[sequence])},
                      {"tokens", json::Array(written[sequence])},
                      {"end", end}};
    if (tokenizer)
      line["text"] = textOf(sequence);
    outs() << json::Value(std::move(line)) << "\n";
  }

  void printSpeed() {
    size_t ofPrompts = 0, tokens = 0;
    for (auto [prompt, own] : zip_equal(prompts, written))
      ofPrompts += prompt.size(), tokens += own.size();
    errs() << "llmmem-run: " << tokens << " tokens of " << prompts.size()
           << (prompts.size() == 1 ? " sequence" : " sequences");
    // The first token of each is of the prompt's last step.
    if (steps > 0 && tokenSeconds > 0)
      errs() << " at "
             << format("%.1f", static_cast<double>(tokens - prompts.size()) / tokenSeconds)
             << " tokens/s";
    errs() << "; " << ofPrompts << " of prompts in " << format("%.3f", promptSeconds) << " s\n";
    CacheUse use = run.use();
    errs() << "llmmem-run: caches reserve " << use.reserved << " rows, of which " << use.used
           << " hold a token and " << use.wasted << " are given to sequences and hold none\n";
  }

  Error writeProfile() {
    if (options.profile)
      profile.print(errs());
    return writeProfileFiles(profile, profile.toJson(), options);
  }

  /// Writes `logits.I`: those by which each token of sequence I was chosen.
  Error saveLogits() {
    std::vector<std::vector<double>> all(rows.size());
    std::vector<TensorEntry> tensors;
    for (auto [sequence, own] : enumerate(rows)) {
      for (const std::vector<double> &row : own)
        append_range(all[sequence], row);
      TensorEntry tensor;
      tensor.name = "logits." + std::to_string(sequence);
      tensor.dtype = "F64";
      tensor.shape = {static_cast<int64_t>(own.size()), run.vocabulary()};
      tensor.shard.shape = {tensor.shape[0], tensor.shape[1]};
      tensor.bytes = StringRef(reinterpret_cast<const char *>(all[sequence].data()),
                               all[sequence].size() * sizeof(double));
      tensors.push_back(std::move(tensor));
    }
    return writeSafeTensors(options.logitsFile, tensors);
  }

  CachedGeneration &run;
  const RunOptions &options;
  const std::optional<Tokenizer> &tokenizer;
  std::vector<CachedGeneration::Tokens> prompts, written;
  std::vector<std::string> ends; // why a sequence ended; empty: it goes on
  std::vector<std::vector<std::vector<double>>> rows{prompts.size()};
  double promptSeconds = 0, tokenSeconds = 0;
  int64_t steps = 0;
  StepProfile profile; // of the steps that follow the prompts
};

Error fillParameters(CachedGeneration &run, const RunOptions &options) {
  if (options.loadFile.empty()) {
    if (RankJob::rank() == 0)
      errs() << "llmmem-run: note: without --load parameters are sampled from --seed, and tokens "
                "mean nothing\n";
    run.model().sampleParameters(options.seed.value_or(0));
    return Error::success();
  }
  Expected<SafeTensors> file = SafeTensors::read(options.loadFile);
  if (!file)
    return file.takeError();
  if (Error error = compareCheckpoints(*file, options.loadFile))
    return error;
  Expected<int64_t> loaded = run.model().loadParameters(*file);
  return loaded ? Error::success()
                : createStringError("'" + options.loadFile + "': " + toString(loaded.takeError()));
}

Error checkStop(const RunOptions &options, int64_t vocabulary) {
  for (int32_t token : options.stop)
    if (token < 0 || token >= vocabulary)
      return createStringError("--stop: no token is " + Twine(token) +
                               "; the step has tokens 0 to " + Twine(vocabulary - 1));
  return Error::success();
}

} // namespace

Error llmmem::generateCached(MutableArrayRef<PlannedFunction> steps, const RunOptions &options) {
  PlannedFunction &decode = steps.back();
  Expected<CachedGeneration> run =
      CachedGeneration::create(*decode.compiled, decode.roles, decode.context);
  if (!run)
    return createStringError("'" + options.inputFiles.back() + "': " + toString(run.takeError()));
  if (steps.size() > 1)
    if (Error error = run->addPrefill(*steps.front().compiled, steps.front().roles))
      return createStringError("'" + options.inputFiles.front() + "' with '" +
                               options.inputFiles.back() + "': " + toString(std::move(error)));
  if (Error error = checkStop(options, run->vocabulary()))
    return error;
  Expected<std::optional<Tokenizer>> tokenizer = readTokenizer(options, run->vocabulary());
  if (!tokenizer)
    return tokenizer.takeError();
  Expected<std::vector<CachedGeneration::Tokens>> prompts = readPrompts(options, *tokenizer);
  if (!prompts)
    return prompts.takeError();
  if (!*tokenizer && !options.tokensFile && run->vocabulary() < 256)
    return createStringError(
        "a vocabulary of " + Twine(run->vocabulary()) +
        " cannot represent the 256 bytes of a text; give --tokens or --tokenizer");
  if (Error error = comparePrompts(*prompts, *tokenizer ? (*tokenizer)->vocabulary() : 0))
    return error;
  if (Error error = fillParameters(*run, options))
    return error;
  catchInterrupts();
  return Writer(*run, options, *tokenizer, std::move(*prompts)).write();
}
