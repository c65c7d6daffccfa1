//===- MissingProducts.cpp - What a device's library cannot multiply -------===//

#include "MissingProducts.h"
#include "llmmem/Alignment.h"
#include "llmmem/Codegen/Gpu/LibraryForm.h"
#include "llmmem/Conversion/LibraryCalls.h"

using namespace mlir;
using namespace llmmem;

/// Returns what the library is asked about. Any address will do.
static llmmem_product askedOf(llm::LibraryProductOp op) {
  llmmem_product product = constantsOf(op);
  product.bias = op.getBias() ? kArenaAlignment : 0;
  product.aux = op.getAux() ? kArenaAlignment : 0;
  return product;
}

/// Says for a user what is done instead.
static const char *replacementOf(const llmmem_product_form &form) {
  if (form.epilogue > LLMMEM_EPILOGUE_BIAS)
    return "; its epilogue is a launch of its own";
  return form.initial.pitch ? "; it is computed without that call"
                            : "; a generated kernel computes it";
}

bool llmmem::findMissingProducts(ModuleOp lowered, const CudaDevice &device,
                                 SmallVectorImpl<Attribute> &forms,
                                 std::vector<std::string> &reasons) {
  size_t before = forms.size();
  lowered.walk([&](llm::LibraryProductOp op) {
    DictionaryAttr form = libraryFormOf(op);
    if (llvm::is_contained(forms, form))
      return;
    llmmem_product asked = askedOf(op);
    if (std::optional<std::string> why = device.whyMissing(asked)) {
      forms.push_back(form);
      reasons.push_back(*why + replacementOf(asked.form));
    }
  });
  return forms.size() > before;
}
