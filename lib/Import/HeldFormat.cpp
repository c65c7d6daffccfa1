//===- HeldFormat.cpp - What is held in fewer bits -------------------------===//

#include "llmmem/Import/HeldFormat.h"
#include "llmmem/Dialect/FewerBits.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::importer;

namespace {
struct Name {
  StringRef text;
  HeldKind kind;
};
} // namespace
static constexpr Name names[] = {{"int4", HeldKind::Int4},
                                 {"int8", HeldKind::Int8},
                                 {"f8e4m3", HeldKind::F8E4M3},
                                 {"f8e5m2", HeldKind::F8E5M2},
                                 {"f8", HeldKind::F8E4M3}};

static std::optional<HeldKind> findKind(StringRef text) {
  for (const Name &name : names)
    if (name.text == text)
      return name.kind;
  return std::nullopt;
}

StringRef importer::nameOf(HeldKind kind) {
  return llvm::find_if(names, [&](const Name &name) { return name.kind == kind; })->text;
}

Type importer::elementOf(Builder &builder, HeldKind kind) {
  switch (kind) {
  case HeldKind::Int4:
    return builder.getIntegerType(4);
  case HeldKind::Int8:
    return builder.getI8Type();
  case HeldKind::F8E4M3:
    return Float8E4M3FNType::get(builder.getContext());
  case HeldKind::F8E5M2:
    return Float8E5M2Type::get(builder.getContext());
  }
  llvm_unreachable("a kind beyond the enum");
}

std::string HeldFormat::text() const { return (nameOf(kind) + ":" + Twine(group)).str(); }

llvm::Expected<HeldFormat> importer::readWeightFormat(StringRef text) {
  auto [kindText, groupText] = text.split(':');
  std::optional<HeldKind> kind = findKind(kindText);
  if (!kind)
    return llvm::createStringError("--weights is '" + text +
                                   "', expected int4, int8, f8e4m3 or f8e5m2, and perhaps a group: "
                                   "int4:128");
  HeldFormat format{*kind};
  if (text.contains(':') && (groupText.getAsInteger(10, format.group) || format.group < 1))
    return llvm::createStringError(
        "--weights has the group '" + groupText +
        "', expected a number of neighbours that share a scale: " + kindText + ":128");
  if (format.group % llm::kGroupStep != 0)
    return llvm::createStringError("--weights has groups of " + Twine(format.group) +
                                   ", expected a multiple of " + Twine(llm::kGroupStep) + ": " +
                                   kindText + ":" +
                                   Twine(llvm::alignTo(format.group, llm::kGroupStep)));
  return format;
}

llvm::Expected<HeldKind> importer::readCacheFormat(StringRef text) {
  std::optional<HeldKind> kind = findKind(text);
  if (kind && *kind != HeldKind::Int4)
    return *kind;
  return llvm::createStringError("--kv-cache is '" + text +
                                 "', expected int8, f8 (f8e4m3) or f8e5m2");
}

llvm::Expected<int64_t> importer::readActivationGroup(StringRef text) {
  auto [kindText, groupText] = text.split(':');
  int64_t group = llm::kActivationStep;
  bool isGroup = !text.contains(':') || !groupText.getAsInteger(10, group);
  if (kindText == nameOf(HeldKind::Int8) && isGroup && group > 0 &&
      group <= llm::kMostActivations && group % llm::kActivationStep == 0)
    return group;
  return llvm::createStringError(
      "--activations is '" + text + "', expected int8, and perhaps a group, a multiple of " +
      Twine(llm::kActivationStep) + " up to " + Twine(llm::kMostActivations) + ": int8:128");
}
