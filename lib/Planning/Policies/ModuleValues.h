//===- ModuleValues.h - Which values of a step are a module's -----------------===//

#ifndef LLMMEM_LIB_PLANNING_POLICIES_MODULEVALUES_H
#define LLMMEM_LIB_PLANNING_POLICIES_MODULEVALUES_H

#include "llmmem/Planning/Model/Blocks.h"
#include "llmmem/Planning/Policies/Modules.h"

namespace llmmem::planning {

/// Finds the values of modules in the forward of a chain. Parameters that a block gathers or casts
/// are no module's.
class ModuleValues {
public:
  ModuleValues(const Graph &graph, const Chain &chain);

  /// Returns the values of `module`, all of them written in the forward; `selected` are the ops of
  /// core attention.
  std::vector<ValueIndex> of(const ModuleEntry &module, llvm::ArrayRef<OpIndex> selected) const;

private:
  struct Block {
    std::vector<OpIndex> ops; // in the order of the chain
    bool hasRouter = false, hasLatentRows = false;
  };
  void addOfBlock(const ModuleEntry &module, const Block &block,
                  std::vector<ValueIndex> &values) const;
  void addByName(const ModuleEntry &module, const Block &block,
                 std::vector<ValueIndex> &values) const;
  void addAllBut(const ModuleEntry &module, const Block &block,
                 std::vector<ValueIndex> &values) const;
  void addByOp(const Block &block, std::vector<ValueIndex> &values) const;
  bool leaves(ValueIndex value) const;

  const Graph &graph;
  const Chain &chain;
  std::vector<Block> blocks;
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_POLICIES_MODULEVALUES_H
