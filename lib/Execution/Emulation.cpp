//===- Emulation.cpp - What the emulator runs, and its faults as diagnostics -//

#include "llmmem/Execution/Emulation.h"
#include "llmmem/Dialect/LlmDialect.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace llmmem;
using emulation::Site;

static int64_t numberIn(DictionaryAttr facts, StringRef name) {
  return facts.getAs<IntegerAttr>(name).getInt();
}

static std::vector<int64_t> numbersIn(DictionaryAttr facts, StringRef name) {
  return facts.getAs<DenseI64ArrayAttr>(name).asArrayRef().vec();
}

static Location locationIn(DictionaryAttr facts) { return facts.getAs<LocationAttr>("location"); }

void Emulation::readSite(DictionaryAttr facts) {
  Site site;
  site.kind = llvm::StringSwitch<Site::Kind>(facts.getAs<StringAttr>("kind"))
                  .Case("read", Site::Kind::Read)
                  .Case("write", Site::Kind::Write)
                  .Case("barrier", Site::Kind::Barrier)
                  .Case("warp_barrier", Site::Kind::WarpBarrier)
                  .Case("shuffle", Site::Kind::Shuffle)
                  .Case("mma", Site::Kind::Mma)
                  .Case("commit_copies", Site::Kind::CommitCopies)
                  .Case("wait_for_copies", Site::Kind::WaitForCopies)
                  .Case("wgmma", Site::Kind::Wgmma)
                  .Case("take_sums", Site::Kind::TakeSums)
                  .Case("other_of_wgmma", Site::Kind::OtherOfWgmma)
                  .Case("of_barrier_object", Site::Kind::OfBarrierObject)
                  .Case("cluster_barrier", Site::Kind::ClusterBarrier);
  if (site.kind == Site::Kind::Read || site.kind == Site::Kind::Write) {
    site.buffer = static_cast<int32_t>(numberIn(facts, "buffer"));
    site.bytes = numberIn(facts, "bytes");
    site.alignment = numberIn(facts, "alignment");
    site.extent = numberIn(facts, "extent");
    site.isOfPeer = facts.contains("of_peer");
  }
  if (facts.contains("matrices")) {
    site.matrices = static_cast<int32_t>(numberIn(facts, "matrices"));
    site.transposed = facts.getAs<BoolAttr>("transposed").getValue();
  }
  if (facts.contains("sums"))
    site.sums = static_cast<int32_t>(numberIn(facts, "sums"));
  if (site.kind == Site::Kind::Wgmma) {
    site.columns = static_cast<int32_t>(numberIn(facts, "columns"));
    site.turned = {facts.contains("turned_a"), facts.contains("turned_b")};
    site.isF16 = facts.contains("is_f16");
    site.clears = facts.contains("clears");
    site.hasRegistersOfA = facts.contains("registers_of_a");
  }
  if (site.kind == Site::Kind::Shuffle)
    site.shuffle = llvm::StringSwitch<Site::Shuffle>(facts.getAs<StringAttr>("mode"))
                       .Case("xor", Site::Shuffle::Xor)
                       .Case("down", Site::Shuffle::Down)
                       .Case("up", Site::Shuffle::Up)
                       .Case("idx", Site::Shuffle::Idx);
  described.sites.push_back(site);
  sites.push_back(locationIn(facts));
  texts.push_back(facts.getAs<StringAttr>("text").str());
}

void Emulation::readKernel(DictionaryAttr facts) {
  described.kernels.push_back(
      {facts.getAs<StringAttr>("name").str(), numbersIn(facts, "buffer_bytes"),
       numberIn(facts, "shared_bytes"), facts.contains("synchronizes"), facts.contains("has_wgmma"),
       facts.contains("cluster_blocks") ? numberIn(facts, "cluster_blocks") : 1});
}

void Emulation::readLaunch(DictionaryAttr facts) {
  described.launches.push_back({numberIn(facts, "kernel"), numbersIn(facts, "parameters")});
  launches.push_back(locationIn(facts));
}

void Emulation::readCall(DictionaryAttr facts) {
  emulation::Call call;
  call.values = numbersIn(facts, "values");
  call.writes.resize(call.values.size());
  for (int64_t number : numbersIn(facts, "writes"))
    call.writes[number] = true;
  described.calls.push_back(std::move(call));
  calls.push_back(locationIn(facts));
}

Emulation Emulation::takeFrom(ModuleOp module) {
  auto records = module->getAttrOfType<DictionaryAttr>(llm::LlmDialect::kEmulation);
  Emulation emulation;
  auto readAll = [&](StringRef name, void (Emulation::*read)(DictionaryAttr)) {
    for (auto facts : records.getAs<ArrayAttr>(name).getAsRange<DictionaryAttr>())
      (emulation.*read)(facts);
  };
  readAll("sites", &Emulation::readSite);
  readAll("kernels", &Emulation::readKernel);
  readAll("launches", &Emulation::readLaunch);
  readAll("calls", &Emulation::readCall);
  module->removeAttr(llm::LlmDialect::kEmulation);
  return emulation;
}

static std::string textOf(emulation::Triple numbers) {
  return llvm::formatv("({0}, {1}, {2})", numbers[0], numbers[1], numbers[2]).str();
}

void Emulation::report(const emulation::Fault &fault) const {
  if (fault.launch < 0) {
    emitError(fault.call < 0 ? launches.front() : calls[fault.call])
        << "the runtime " << fault.message;
    return;
  }
  Location launch = launches[fault.launch];
  InFlightDiagnostic error = emitError(fault.site ? sites[*fault.site] : launch);
  error << "kernel '" << fault.kernel << "'";
  if (fault.thread)
    error << ", block " << textOf(*fault.block) << ", thread " << textOf(*fault.thread);
  error << ": " << fault.message;
  if (fault.site)
    error.attachNote() << "in " << texts[*fault.site];
  if (fault.otherSite)
    error.attachNote(sites[*fault.otherSite])
        << fault.otherMessage << ": " << texts[*fault.otherSite];
  if (fault.call >= 0)
    error.attachNote(calls[fault.call]) << "called here";
}
