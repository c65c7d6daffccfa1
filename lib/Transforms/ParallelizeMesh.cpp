//===- ParallelizeMesh.cpp - The mesh that a text names --------------------===//

#include "llmmem/Support/ByteSize.h"
#include "llmmem/Transforms/Parallelize.h"
#include "llmmem/Transforms/PipelineStages.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace llmmem;

/// Holds the names of the axes that something is split over.
static constexpr llvm::StringLiteral kAxes[] = {kDataParallelAxis, kTensorParallelAxis,
                                                kPipelineAxis, kExpertParallelAxis,
                                                kContextParallelAxis};

/// Parses `name=size`; the names before it are known.
static llvm::Expected<MeshAxis> parseAxis(StringRef text, ArrayRef<MeshAxis> known) {
  MeshAxis axis;
  auto [name, size] = text.split('=');
  if (name.empty() || size.getAsInteger(10, axis.size) || axis.size < 1 || axis.size > INT32_MAX)
    return llvm::createStringError(
        "'" + text + "' is no axis of a mesh; expected a name and a number of ranks, as in dp=4");
  if (!llvm::is_contained(kAxes, name))
    return llvm::createStringError(
        "'" + name + "' is an axis that nothing is split over; expected " +
        llvm::join(ArrayRef(kAxes).drop_back(), ", ") + " or " + ArrayRef(kAxes).back());
  axis.name = name.str();
  if (llvm::any_of(known, [&](const MeshAxis &other) { return other.name == axis.name; }))
    return llvm::createStringError("names axis '" + name + "' twice");
  return axis;
}

llvm::Expected<SmallVector<MeshAxis>> llmmem::parseMesh(StringRef text) {
  SmallVector<StringRef> parts;
  text.split(parts, ',');
  SmallVector<MeshAxis> axes;
  int64_t ranks = 1;
  for (StringRef part : parts) {
    llvm::Expected<MeshAxis> axis = parseAxis(part, axes);
    if (!axis)
      return axis.takeError();
    if (axis->size > INT32_MAX / ranks)
      return llvm::createStringError("'" + text + "' has 2^31 ranks or more");
    ranks *= axis->size;
    axes.push_back(std::move(*axis));
  }
  return axes;
}

llvm::Expected<int64_t> llmmem::parseBucketBytes(StringRef text) {
  return text == "0" ? llvm::Expected<int64_t>(0) : parseByteSize(text);
}

llvm::Expected<bool> llmmem::parseDataParallel(StringRef text) {
  if (text == "all-reduce" || text == "server")
    return text == "server";
  return llvm::createStringError("'" + text +
                                 "' is no way to update; expected all-reduce (each "
                                 "rank updates) or server (the first alone)");
}

llm::MeshAttr llmmem::makeMesh(ArrayRef<MeshAxis> axes, MLIRContext *context) {
  SmallVector<StringAttr> names;
  SmallVector<int64_t> sizes;
  for (const MeshAxis &axis : axes) {
    names.push_back(StringAttr::get(context, axis.name));
    sizes.push_back(axis.size);
  }
  return llm::MeshAttr::get(context, names, sizes);
}
