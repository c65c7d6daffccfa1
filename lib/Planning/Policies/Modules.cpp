//===- Modules.cpp - The table of modules, and how their values are found -----===//

#include "llmmem/Planning/Policies/Modules.h"
#include "FixedPolicies.h"
#include "ModuleValues.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llmmem::planning;
using llvm::StringRef;

/// A new module adds one line here.
static constexpr ModuleEntry table[] = {
    {"core_attn", ModuleRule::CoreAttention, "", "attention between its projections (the default)"},
    {"layernorm", ModuleRule::Everywhere,
     "attn.norm attn.post_norm cross.norm mlp.norm mlp.post_norm", "norms of blocks"},
    {"mlp", ModuleRule::InDense, "mlp -mlp.norm -mlp.post_norm -mlp.residual -mlp.dropout",
     "the feed-forward of blocks without experts"},
    {"moe", ModuleRule::InMixture, "mlp -mlp.norm -mlp.post_norm -mlp.residual -mlp.dropout",
     "router and experts"},
    {"moe_act", ModuleRule::InMixture, "mlp.act mlp.gated", "the activation of experts"},
    {"shared_experts", ModuleRule::InMixture, "mlp.shared", "experts that every token takes"},
    {"mla_up_proj", ModuleRule::InLatent,
     "attn.q attn.k attn.v attn.kv -attn.q.down -attn.q.norm -attn.kv.down -attn.kv.norm "
     "-attn.kv.split",
     "products that latent rows are read by, and their positions"},
    {"op", ModuleRule::ByOp, "", "all but attention, sums over ranks and every second product"},
    {"minimal", ModuleRule::AllBut,
     "attn.q attn.k attn.v attn.qkv attn.proj mlp.gate mlp.up mlp.gate_up mlp.down",
     "all but products with weights"},
    {"minimal_with_context", ModuleRule::AllBut,
     "attn.q attn.k attn.v attn.qkv attn.out attn.out.lse attn.proj mlp.gate mlp.up mlp.gate_up "
     "mlp.down",
     "all but these and attention"},
    {"save_dot_except_mlp", ModuleRule::AllBut, "attn.q attn.k attn.v attn.qkv attn.proj",
     "all but the products of attention with weights"},
    {"save_qkv_proj", ModuleRule::AllBut, "attn.q attn.k attn.v attn.qkv",
     "all but queries, keys and values"},
    {"save_out_proj", ModuleRule::AllBut, "attn.proj", "all but the product after attention"},
};

std::span<const ModuleEntry> llmmem::planning::moduleTable() { return table; }

const ModuleEntry *llmmem::planning::findModule(std::string_view name) {
  const auto *found =
      llvm::find_if(table, [&](const ModuleEntry &entry) { return entry.name == name; });
  return found == std::end(table) ? nullptr : found;
}

std::string llmmem::planning::moduleNames() {
  std::string names;
  for (const ModuleEntry &entry : table) {
    if (&entry != table)
      names += &entry == std::end(table) - 1 ? " or " : ", ";
    names += entry.name;
  }
  return names;
}

/// Returns what a name has after its first number, or nothing.
static StringRef pathOf(StringRef name) {
  while (!name.empty()) {
    auto [part, rest] = name.split('.');
    if (!part.empty() && llvm::all_of(part, llvm::isDigit))
      return rest;
    name = rest;
  }
  return {};
}

static bool comesFirst(StringRef pattern, StringRef path) {
  return path.consume_front(pattern) && (path.empty() || path.front() == '.');
}

static bool isAmong(StringRef patterns, StringRef path) {
  return llvm::is_contained(llvm::split(patterns, ' '), path);
}

static bool matches(StringRef patterns, StringRef path) {
  bool found = false;
  for (StringRef pattern : llvm::split(patterns, ' ')) {
    const bool takesAway = pattern.consume_front("-");
    if (comesFirst(pattern, path)) {
      if (takesAway)
        return false;
      found = true;
    }
  }
  return found;
}

/// Says whether one of `words` is a word of an op's name, as `linear` is of llm.grouped_linear.
static bool hasWord(StringRef name, llvm::ArrayRef<StringRef> words) {
  llvm::SmallVector<StringRef, 6> parts;
  llvm::SplitString(name, parts, "._");
  return llvm::any_of(parts, [&](StringRef part) { return llvm::is_contained(words, part); });
}
static bool isProduct(StringRef name) {
  return hasWord(name, {"linear", "matmul", "dot", "mm", "addmm", "bmm"});
}
static bool isHeldByOp(StringRef name) {
  return hasWord(name, {"attention"}) || name.contains("all_reduce") ||
         name.contains("reduce_scatter");
}

ModuleValues::ModuleValues(const Graph &graph, const Chain &chain)
    : graph(graph), chain(chain), blocks(chain.numStages) {
  const std::vector<bool> ofParameters = opsOfParameters(graph);
  for (OpIndex op : chain.order) {
    const int32_t stage = chain.stageOf[op];
    if (stage < 0 || ofParameters[op])
      continue;
    Block &block = blocks[stage];
    block.ops.push_back(op);
    for (ValueIndex value : graph.writes(op)) {
      const StringRef path = pathOf(graph.problem().values[value].name);
      block.hasRouter |= comesFirst("mlp.router", path) || comesFirst("mlp.route", path);
      block.hasLatentRows |= comesFirst("attn.kv.down", path);
    }
  }
}

/// Says whether a later stage of the forward reads `value`.
bool ModuleValues::leaves(ValueIndex value) const {
  const int32_t stage = chain.stageOf[graph.writer(value)];
  return llvm::any_of(graph.readers(value),
                      [&](OpIndex reader) { return chain.stageOf[reader] > stage; });
}

void ModuleValues::addByName(const ModuleEntry &module, const Block &block,
                             std::vector<ValueIndex> &values) const {
  for (OpIndex op : block.ops)
    for (ValueIndex value : graph.writes(op))
      if (matches(module.patterns, pathOf(graph.problem().values[value].name)))
        values.push_back(value);
}

/// The first product of a block is held, the second is recomputed, and so on: torchtitan's policy
/// for selective checkpoints by op (torchtitan/distributed/activation_checkpoint.py).
void ModuleValues::addByOp(const Block &block, std::vector<ValueIndex> &values) const {
  int64_t products = 0;
  for (OpIndex op : block.ops) {
    const StringRef name = graph.op(op).name;
    if (isHeldByOp(name) || (isProduct(name) && ++products % 2 == 1))
      continue;
    for (ValueIndex value : graph.writes(op))
      if (!leaves(value))
        values.push_back(value);
  }
}

void ModuleValues::addAllBut(const ModuleEntry &module, const Block &block,
                             std::vector<ValueIndex> &values) const {
  for (OpIndex op : block.ops)
    for (ValueIndex value : graph.writes(op))
      if (!leaves(value) && !isAmong(module.patterns, pathOf(graph.problem().values[value].name)))
        values.push_back(value);
}

void ModuleValues::addOfBlock(const ModuleEntry &module, const Block &block,
                              std::vector<ValueIndex> &values) const {
  switch (module.rule) {
  case ModuleRule::CoreAttention:
    return;
  case ModuleRule::Everywhere:
    return addByName(module, block, values);
  case ModuleRule::InDense:
    if (!block.hasRouter)
      addByName(module, block, values);
    return;
  case ModuleRule::InMixture:
    if (block.hasRouter)
      addByName(module, block, values);
    return;
  case ModuleRule::InLatent:
    if (block.hasLatentRows)
      addByName(module, block, values);
    return;
  case ModuleRule::ByOp:
    return addByOp(block, values);
  case ModuleRule::AllBut:
    return addAllBut(module, block, values);
  }
}

std::vector<ValueIndex> ModuleValues::of(const ModuleEntry &module,
                                         llvm::ArrayRef<OpIndex> selected) const {
  std::vector<ValueIndex> values;
  if (module.rule == ModuleRule::CoreAttention)
    for (OpIndex op : selected)
      if (op >= 0 && op < graph.numOps() && chain.stageOf[op] >= 0)
        llvm::append_range(values, graph.writes(op));
  for (int32_t stage = 0; stage < chain.numStages; ++stage)
    if (chain.isBlock[stage])
      addOfBlock(module, blocks[stage], values);
  return values;
}

std::vector<std::string> llmmem::planning::modulesWithoutValues(const Problem &problem,
                                                                const Policy &policy) {
  const Graph graph(problem, /*cancellation=*/nullptr);
  const Chain chain = findChain(graph, givenOrder(graph));
  const ModuleValues values(graph, chain);
  std::vector<std::string> missing;
  for (const std::string &name : policy.modules)
    if (values.of(*findModule(name), policy.selected).empty())
      missing.push_back(name);
  return missing;
}
