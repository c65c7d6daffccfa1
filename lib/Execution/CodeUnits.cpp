//===- CodeUnits.cpp - Functions by what their code depends on --------------===//

#include "CodeUnits.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/SHA256.h"

using namespace mlir;
using namespace llmmem;

/// Returns the names that an op and its nested ops mention.
static SetVector<StringAttr> symbolsIn(Operation *op) {
  SetVector<StringAttr> names;
  AttrTypeWalker walker;
  walker.addWalk([&](SymbolRefAttr reference) { names.insert(reference.getRootReference()); });
  op->walk([&](Operation *nested) { walker.walk(nested->getAttrDictionary()); });
  return names;
}

static bool isDeclaration(Operation *op) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  return function && function.isExternal();
}

namespace {
/// Names the symbols that a function mentions before the function.
class Naming {
public:
  Naming(ModuleOp module, StringRef salt) : salt(salt) {
    for (Operation &op : module.getBody()->getOperations())
      if (auto symbol = dyn_cast<SymbolOpInterface>(op); symbol && !isDeclaration(&op))
        symbols[symbol.getNameAttr()] = symbol;
  }

  llvm::Error nameAll();
  const llvm::DenseMap<StringAttr, StringAttr> &names() const { return renamed; }

private:
  llvm::Error name(StringAttr old, SymbolOpInterface symbol);
  std::string digestOf(SymbolOpInterface symbol) const;

  StringRef salt;
  llvm::MapVector<StringAttr, SymbolOpInterface> symbols;
  llvm::DenseMap<StringAttr, StringAttr> renamed;
  llvm::DenseSet<StringAttr> begun, taken;
};
} // namespace

/// The symbol has no name of its own in the text that is digested.
std::string Naming::digestOf(SymbolOpInterface symbol) const {
  symbol.setName("unit");
  std::string text;
  llvm::raw_string_ostream out(text);
  symbol->print(out, OpPrintingFlags().printGenericOpForm(false).useLocalScope());
  llvm::SHA256 hash;
  hash.update(salt);
  hash.update(text);
  return "code_" + llvm::toHex(hash.final(), /*LowerCase=*/true);
}

llvm::Error Naming::nameAll() {
  for (auto [old, symbol] : symbols)
    if (llvm::Error error = name(old, symbol))
      return error;
  return llvm::Error::success();
}

llvm::Error Naming::name(StringAttr old, SymbolOpInterface symbol) {
  if (renamed.contains(old))
    return llvm::Error::success();
  if (!begun.insert(old).second)
    return llvm::createStringError("@" + old.getValue() + " calls itself");
  for (StringAttr used : symbolsIn(symbol))
    if (auto other = symbols.find(used); other != symbols.end())
      if (llvm::Error error = name(used, other->second))
        return error;
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](FlatSymbolRefAttr reference) {
    StringAttr digest = renamed.lookup(reference.getAttr());
    return digest ? FlatSymbolRefAttr::get(digest) : reference;
  });
  replacer.recursivelyReplaceElementsIn(symbol);
  auto digest = StringAttr::get(symbol->getContext(), digestOf(symbol));
  renamed[old] = digest;
  symbol.setName(digest);
  if (!taken.insert(digest).second)
    symbol->erase();
  return llvm::Error::success();
}

llvm::Expected<CodeUnits> CodeUnits::nameIn(ModuleOp module, StringRef salt) {
  Naming naming(module, salt);
  if (llvm::Error error = naming.nameAll())
    return std::move(error);
  CodeUnits units;
  for (auto [old, digest] : naming.names())
    units.renamed[old.getValue()] = digest.str();
  for (auto function : module.getOps<FunctionOpInterface>())
    if (!function.isExternal())
      units.digests.push_back(function.getName().str());
  return units;
}

void llmmem::eraseBody(ModuleOp module, StringRef function) {
  auto known = cast<FunctionOpInterface>(module.lookupSymbol(function));
  known.eraseBody();
  SymbolTable::setSymbolVisibility(known, SymbolTable::Visibility::Private);
}

namespace {
/// Builds the module of one unit.
class UnitModule {
public:
  UnitModule(ModuleOp lowered, const SymbolTable &table, const llvm::StringSet<> &units)
      : table(table), units(units), module(ModuleOp::create(lowered.getLoc())) {
    module->getOperation()->setAttrs(lowered->getAttrDictionary());
  }

  OwningOpRef<ModuleOp> take(LLVM::LLVMFuncOp root);

private:
  void add(StringAttr name);
  void addAllOf(Operation *op);

  const SymbolTable &table;
  const llvm::StringSet<> &units;
  OwningOpRef<ModuleOp> module;
};
} // namespace

void UnitModule::addAllOf(Operation *op) {
  for (StringAttr used : symbolsIn(op))
    add(used);
}

/// Parts of loops and tables are copied, so that nothing outside calls or reads them. Other units
/// and the runtime are declared.
void UnitModule::add(StringAttr name) {
  Operation *symbol = table.lookup(name);
  if (!symbol || module->lookupSymbol(name))
    return;
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  auto function = dyn_cast<LLVM::LLVMFuncOp>(symbol);
  if (function && (function.isExternal() || units.contains(name))) {
    auto declared = cast<LLVM::LLVMFuncOp>(builder.insert(function->cloneWithoutRegions()));
    declared.setLinkage(LLVM::Linkage::External);
    return;
  }
  Operation *copied = builder.insert(symbol->clone());
  if (function)
    cast<LLVM::LLVMFuncOp>(copied).setLinkage(LLVM::Linkage::Internal);
  addAllOf(copied);
}

OwningOpRef<ModuleOp> UnitModule::take(LLVM::LLVMFuncOp root) {
  root->remove();
  module->push_back(root);
  root.setLinkage(LLVM::Linkage::External);
  addAllOf(root);
  return std::move(module);
}

std::vector<Unit> llmmem::takeUnits(ModuleOp lowered, ArrayRef<std::string> names) {
  llvm::StringSet<> units;
  units.insert_range(names);
  SymbolTable table(lowered);
  std::vector<Unit> taken;
  // What is taken stays in the table, where others find it to declare it.
  for (const std::string &name : names)
    if (auto root = table.lookup<LLVM::LLVMFuncOp>(name); root && !root.isExternal())
      taken.push_back({name, UnitModule(lowered, table, units).take(root)});
  return taken;
}
