//===- Modules.h - The parts of a block that frameworks recompute by name -----===//
//
// `--checkpoint-policy=selective=core_attn,mlp` recomputes the results of these modules of each
// block and holds all else. The names are those of Megatron-LM's --recompute-modules and of
// torchtitan's selective_ac_option. A problem has no modules; it has names of values, and the table
// says which names a module has.
//
// The *path* of a value is what its name has after the first number: of h.3.mlp.act it is mlp.act.
// A module has the values in whose path one of its patterns comes first. A pattern that begins with
// '-' takes values away.
//
// Example: h.3.mlp.act belongs to `mlp` in a dense block, and to `moe` and `moe_act` in a block
// with a router.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_PLANNING_POLICIES_MODULES_H
#define LLMMEM_PLANNING_POLICIES_MODULES_H

#include "llmmem/Planning/Policies/Policies.h"

namespace llmmem::planning {

/// What a module's values are found by.
enum class ModuleRule : uint8_t {
  CoreAttention, // `Policy::selected`
  Everywhere,    // the patterns, in each block
  InDense,       // the patterns, in blocks without a router
  InMixture,     // the patterns, in blocks with a router
  InLatent,      // the patterns, in blocks whose attention has latent rows
  ByOp,          // all but attention, sums over ranks and every second product
  AllBut,        // all but the values whose path is one of the patterns
};

/// One row of the table of modules.
struct ModuleEntry {
  std::string_view name;
  ModuleRule rule;
  std::string_view patterns; // separated by spaces
  std::string_view summary;  // for the help
};

LLMMEM_EXPORT std::span<const ModuleEntry> moduleTable();

/// Returns the row of `name`, or null.
LLMMEM_EXPORT const ModuleEntry *findModule(std::string_view name);

/// Returns the names of the table: "core_attn, layernorm, ... or op".
LLMMEM_EXPORT std::string moduleNames();

/// Returns the modules that `policy` recomputes and that `problem` has no values of: asking for
/// them has no effect.
LLMMEM_EXPORT std::vector<std::string> modulesWithoutValues(const Problem &problem,
                                                            const Policy &policy);

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_POLICIES_MODULES_H
