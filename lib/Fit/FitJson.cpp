//===- FitJson.cpp - The answer for programs --------------------------------===//

#include "PointText.h"
#include "llmmem/Fit/Fit.h"
#include "llvm/ADT/StringExtras.h"

using namespace llmmem;

/// Returns how a user writes the way to train: the flags of both tools, without shape, budget,
/// device and files.
static std::string flagsOf(llvm::ArrayRef<std::string> commands) {
  static constexpr llvm::StringLiteral alone[] = {"--batch", "--seq", "-o"};
  static constexpr llvm::StringLiteral own[] = {"--checkpoint-budget", "--checkpoint-device",
                                                "--checkpoint-seconds"};
  std::vector<std::string> parts;
  for (llvm::StringRef command : commands) {
    llvm::SmallVector<llvm::StringRef> words;
    command.split(words, ' ');
    std::string flags;
    for (size_t number = 1; number < words.size(); ++number) {
      const llvm::StringRef word = words[number];
      if (llvm::is_contained(alone, word)) {
        ++number;
        continue;
      }
      const bool isOwn =
          llvm::any_of(own, [&](llvm::StringRef it) { return word.starts_with(it); });
      const bool isValue = !word.starts_with("-") && !flags.empty() && number > 1 &&
                           words[number - 1].starts_with("--") && !words[number - 1].contains('=');
      if (!isOwn && (word.starts_with("-") || isValue))
        flags += (" " + word).str();
    }
    if (!flags.empty())
      parts.push_back(words.front().str() + flags);
  }
  return llvm::join(parts, ", ");
}

static llvm::json::Value toJson(const FitPoint &point, bool hasRates) {
  llvm::json::Object object{{"batch", point.batch},
                            {"seq", point.seq},
                            {"fits", point.fits()},
                            {"needed_bytes", point.neededBytes}};
  if (hasRates && point.fits()) {
    object["time_ns"] = point.ns;
    object["slowdown_percent"] = slowdownPercent(point);
    object["tokens_per_second"] = tokensPerSecond(point);
  }
  return object;
}

static llvm::json::Value toJson(const ReliefOutcome &outcome, bool hasRates) {
  const auto &[relief, point, commands] = outcome;
  llvm::json::Object object{{"way", relief.name},
                            {"changes", relief.changes},
                            {"flags", flagsOf(commands)},
                            {"ranks", relief.ranks},
                            {"batch", point.batch},
                            {"fits", point.fits()},
                            {"resident_bytes", point.residentBytes},
                            {"needed_bytes", point.neededBytes},
                            {"host_bytes", point.hostBytes},
                            {"commands", llvm::json::Array(commands)}};
  if (hasRates && point.fits()) {
    object["time_ns"] = point.ns;
    object["tokens_per_second"] = tokensPerSecond(point);
  }
  return object;
}

static llvm::json::Value toJson(const StepPhases &step) {
  llvm::json::Array phases;
  for (const PhaseBytes &it : step.phases)
    phases.push_back(llvm::json::Object{{"phase", llvm::StringRef(planning::nameOf(it.phase))},
                                        {"arena_bytes", it.arena}});
  return llvm::json::Object{
      {"parameter_bytes", step.parameters},  {"gradient_bytes", step.gradients},
      {"optimizer_state_bytes", step.state}, {"other_bytes", step.others},
      {"needed_bytes", step.neededBytes},    {"phases", std::move(phases)}};
}

llvm::json::Value llmmem::toJson(const FitModel &model, const FitAnswer &answer) {
  auto pointOrNull = [&](const FitPoint &point) {
    return point.fits() ? ::toJson(point, answer.card.hasRates) : llvm::json::Value(nullptr);
  };
  llvm::json::Array batches, measured, reliefs;
  for (const FitPoint &point : answer.batches)
    batches.push_back(::toJson(point, answer.card.hasRates));
  for (const MeasureOutcome &it : answer.measures) {
    llvm::json::Value point = ::toJson(it.point, answer.card.hasRates);
    point.getAsObject()->insert({"measure", it.name});
    measured.push_back(std::move(point));
  }
  for (const ReliefOutcome &it : answer.reliefs)
    reliefs.push_back(::toJson(it, answer.card.hasRates));
  llvm::json::Object object{
      {"format", "llmmem-fit"},
      {"version", 1},
      {"model", model.facts().file},
      {"parameters", model.parameters()},
      {"dtype", dtypeName(model.facts().dtype)},
      {"card", answer.card.name},
      {"card_bytes", answer.card.memory},
      {"reserve_bytes", answer.card.reserve},
      {"seq", answer.request.seq},
      {"batch", answer.request.batch ? llvm::json::Value(*answer.request.batch) : nullptr},
      {"fits", answer.fits},
      {"resident_bytes", answer.least.residentBytes},
      {"least_bytes", answer.least.neededBytes},
      {"least_bytes_search", fewestBytesFlag()},
      {"recommended", pointOrNull(answer.recommended)},
      {"largest", pointOrNull(answer.largest)},
      {"largest_batch", answer.largest.batch},
      {"longest_sequence", answer.longestSequence},
      {"largest_search", budgetFlag(answer.card)},
      {"times", !answer.card.hasRates         ? "none"
                : model.device().isMeasured() ? "measured"
                                              : "datasheet"},
      {"batches", std::move(batches)},
      {"measures", std::move(measured)},
      {"reliefs", std::move(reliefs)},
      {"search_seconds", model.searchSeconds()},
      {"commands", llvm::json::Array(answer.commands)},
      {"largest_commands", llvm::json::Array(answer.largestCommands)}};
  if (answer.phases)
    object["phases"] = ::toJson(*answer.phases);
  if (answer.capacity) {
    object["capacity"] = ::toJson(answer.capacity->point, answer.card.hasRates);
    object["capacity_places"] = answer.capacity->places;
  }
  return object;
}
