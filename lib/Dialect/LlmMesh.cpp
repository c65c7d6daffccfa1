//===- LlmMesh.cpp - The axes that ranks are arranged by -------------------===//

#include "llmmem/Dialect/LlmOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

//===----------------------------------------------------------------------===//
// Text: #llm.mesh<dp = 2, tp = 4>
//===----------------------------------------------------------------------===//

Attribute MeshAttr::parse(AsmParser &parser, Type) {
  SmallVector<StringAttr> names;
  SmallVector<int64_t> sizes;
  SMLoc begin = parser.getCurrentLocation();
  auto parseAxis = [&]() -> ParseResult {
    std::string name;
    if (parser.parseKeywordOrString(&name) || parser.parseEqual() ||
        parser.parseInteger(sizes.emplace_back()))
      return failure();
    names.push_back(StringAttr::get(parser.getContext(), name));
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, parseAxis))
    return {};
  return getChecked([&] { return parser.emitError(begin); }, parser.getContext(),
                    ArrayRef<StringAttr>(names), ArrayRef<int64_t>(sizes));
}

void MeshAttr::print(AsmPrinter &printer) const {
  printer << "<";
  llvm::interleaveComma(llvm::zip_equal(getNames(), getSizes()), printer, [&](auto axis) {
    printer.printKeywordOrString(std::get<0>(axis).getValue());
    printer << " = " << std::get<1>(axis);
  });
  printer << ">";
}

/// The runtime has groups for this many (LLMMEM_MOST_AXES in Runtime/Collectives.h).
static constexpr size_t mostAxes = 8;

LogicalResult MeshAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<StringAttr> names, ArrayRef<int64_t> sizes) {
  if (names.empty() || names.size() != sizes.size() || names.size() > mostAxes)
    return emitError() << "a mesh has 1 to " << mostAxes
                       << " axes, each a name and a size, as dp = 2";
  llvm::StringSet<> known;
  std::optional<int32_t> ranks = 1;
  for (auto [name, size] : llvm::zip_equal(names, sizes)) {
    if (!known.insert(name.getValue()).second)
      return emitError() << "the mesh names axis '" << name.getValue() << "' twice";
    if (size < 1 || size > INT32_MAX)
      return emitError() << "axis '" << name.getValue() << "' has size " << size
                         << ", expected at least 1";
    ranks = llvm::checkedMul(*ranks, static_cast<int32_t>(size));
    if (!ranks)
      return emitError() << "the mesh has 2^31 ranks or more";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

int64_t MeshAttr::getNumRanks() const {
  int64_t ranks = 1;
  for (int64_t size : getSizes())
    ranks *= size;
  return ranks;
}

std::optional<unsigned> MeshAttr::findAxis(StringRef name) const {
  const auto *found = llvm::find_if(getNames(), [&](StringAttr axis) { return axis == name; });
  if (found == getNames().end())
    return std::nullopt;
  return std::distance(getNames().begin(), found);
}

int64_t MeshAttr::getGroupSize(ArrayAttr axes) const {
  int64_t ranks = 1;
  for (StringAttr axis : axes.getAsRange<StringAttr>())
    ranks *= getSizes()[findAxis(axis.getValue()).value()];
  return ranks;
}

int64_t MeshAttr::getAxisBits(ArrayAttr axes) const {
  int64_t bits = 0;
  for (StringAttr axis : axes.getAsRange<StringAttr>())
    bits |= int64_t(1) << findAxis(axis.getValue()).value();
  return bits;
}

MeshAttr llm::meshOf(Operation *op) {
  auto function = op->getParentOfType<FunctionOpInterface>();
  return function ? function->getAttrOfType<MeshAttr>(LlmDialect::kMesh) : MeshAttr();
}

int64_t llm::groupSizeOf(Operation *op, ArrayAttr axes) { return meshOf(op).getGroupSize(axes); }

//===----------------------------------------------------------------------===//
// Shardings
//===----------------------------------------------------------------------===//

LogicalResult ShardingAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                                   ArrayAttr dimensions, ArrayAttr pieces) {
  for (Attribute axes : dimensions)
    if (!isa<ArrayAttr>(axes) || !llvm::all_of(cast<ArrayAttr>(axes), llvm::IsaPred<StringAttr>))
      return emitError()
             << "a sharding has a list of axes for each dimension, as in [[], [\"tp\"]]";
  if (!pieces)
    return success();
  if (pieces.size() != dimensions.size() || !llvm::all_of(pieces, llvm::IsaPred<DenseI64ArrayAttr>))
    return emitError() << "a sharding with pieces has a list of their sizes for each dimension, as "
                          "in [array<i64>, array<i64: 8, 8>]";
  for (auto sizes : pieces.getAsRange<DenseI64ArrayAttr>())
    if (llvm::any_of(sizes.asArrayRef(), [](int64_t size) { return size < 1; }))
      return emitError() << "pieces of a dimension have at least 1 element";
  return success();
}

ArrayAttr ShardingAttr::getAxes(unsigned dimension) const {
  return cast<ArrayAttr>(getDimensions()[dimension]);
}

ArrayRef<int64_t> ShardingAttr::getPiecesOf(unsigned dimension) const {
  return getPieces() ? cast<DenseI64ArrayAttr>(getPieces()[dimension]).asArrayRef()
                     : ArrayRef<int64_t>();
}
