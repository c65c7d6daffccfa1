//===- LatentPartSums.cpp - Sums of parts of a cache of latent rows ---------===//

#include "LatentPartSums.h"
#include "Emitter/CachedKeys.h"
#include "llmmem/Codegen/Gpu/KernelTraffic.h"
#include "llmmem/Codegen/Gpu/PowersOfTwo.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

PartSums::PartSums(KernelEmitter &e, const LatentParts &parts, int64_t rank) {
  if (parts.count == 1)
    return;
  int64_t size = parts.tokens * parts.sumsOfToken(rank);
  sums = e.workspace(0, size, e.computeType());
  statistics = e.workspace(size * 4, parts.tokens * parts.statisticsOfToken(), e.computeType());
}

namespace {
/// Adds the parts of a head of a token in their order.
class PartAdder : CachedKeys {
public:
  PartAdder(const CachedKeys &keys, const LatentParts &parts, PartSums partSums, Index token,
            Index tokenOfLaunch, Index head)
      : CachedKeys(keys), parts(parts), partSums(partSums), query(queryOf(token, e.index(0), head)),
        row(tokenOfLaunch * parts.count * ofPart() + head) {}

  void emit() {
    Num largest = foldParts(lowest(), [&](Index place, Num carried) {
      return maximum(carried, e.load(partSums.statistics, place * 2));
    });
    auto weightOf = [&](Index place) {
      return powerOfTwo(e.load(partSums.statistics, place * 2) - largest);
    };
    Num total = foldParts(e.number(0.0), [&](Index place, Num carried) {
      return carried + weightOf(place) * e.load(partSums.statistics, place * 2 + 1);
    });
    Num factor = 1.0 / maximum(total, e.number(1.0));
    e.forLanes(valueSize, [&](Index i, unsigned lanes) {
      Num sum = foldParts(e.splat(0.0, lanes), [&](Index place, Num carried) {
        return carried + e.load(partSums.sums, place * valueSize + i, lanes) * weightOf(place);
      });
      e.store(out, outPlace(query, e.index(0)) + i, sum * factor);
    });
  }

private:
  int64_t ofPart() const { return parts.groups * parts.heads; }

  Num foldParts(Num initial, function_ref<Num(Index place, Num carried)> body) {
    Index first = query.begin / parts.positions, end = ceilDiv(query.end, e.index(parts.positions));
    return e.fold(first, end, {initial}, [&](Index part, ArrayRef<Num> carried) -> Row {
      expectIterations(e.builder().getInsertionBlock()->getParentOp(),
                       static_cast<double>(parts.count));
      return {body(row + part * ofPart(), carried[0])};
    })[0];
  }

  LatentParts parts;
  PartSums partSums;
  CachedQuery query;
  Index row;
};
} // namespace

void llmmem::launchPartAdder(LatentAttentionOp op, KernelEmitter &e, const LatentParts &parts,
                             PartSums partSums, Index firstToken) {
  auto heads = static_cast<int64_t>(op.getHeads()), rank = static_cast<int64_t>(op.getRank());
  e.forRows(parts.tokens * heads, {.width = rank}, [&](Index row) {
    Index token = row / heads;
    PartAdder(CachedKeys(op, e), parts, partSums, firstToken + token, token, row % heads).emit();
  });
}
