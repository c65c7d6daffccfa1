//===- CarryBF16AsBits.cpp - bf16 that no machine need know ----------------===//

#include "llmmem/Conversion/Passes.h"
#include "mlir/IR/AttrTypeSubElements.h"

namespace llmmem {
#define GEN_PASS_DEF_CARRYBF16ASBITS
#include "llmmem/Conversion/Passes.h.inc"
} // namespace llmmem

using namespace mlir;

namespace {
struct CarryBF16AsBits : public llmmem::impl::CarryBF16AsBitsBase<CarryBF16AsBits> {
  using CarryBF16AsBitsBase::CarryBF16AsBitsBase;

  void runOnOperation() override {
    auto bits = IntegerType::get(&getContext(), 16);
    AttrTypeReplacer replacer;
    replacer.addReplacement([&](BFloat16Type) -> Type { return bits; });
    replacer.addReplacement([&](FloatAttr number) -> std::optional<Attribute> {
      if (!number.getType().isBF16())
        return std::nullopt;
      return IntegerAttr::get(bits, number.getValue().bitcastToAPInt());
    });
    replacer.addReplacement([&](DenseElementsAttr numbers) -> std::optional<Attribute> {
      if (!numbers.getElementType().isBF16())
        return std::nullopt;
      return numbers.bitcast(bits);
    });
    replacer.recursivelyReplaceElementsIn(getOperation(), /*replaceAttrs=*/true,
                                          /*replaceLocs=*/false, /*replaceTypes=*/true);
  }
};
} // namespace
