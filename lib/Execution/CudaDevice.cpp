//===- CudaDevice.cpp - A GPU with steps that share its memory -------------===//

#include "llmmem/Execution/CudaDevice.h"
#include "llmmem/Runtime/DeviceRanks.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llmmem;

char DeviceError::ID = 0;

void DeviceError::log(llvm::raw_ostream &os) const { os << message; }

llvm::Expected<std::shared_ptr<CudaDevice>> CudaDevice::open(const std::string &driver) {
  char message[1024];
  llmmem_cuda *run = llmmem_cuda_open(driver.c_str(), llmmem_local_rank(), message, sizeof message);
  if (!run)
    return llvm::make_error<DeviceError>(message);
  std::shared_ptr<CudaDevice> device(new CudaDevice(run));
  int capability = llmmem_cuda_capability(run);
  if (capability < 80)
    return llvm::make_error<DeviceError>(
        llvm::formatv("{0} has compute capability {1}.{2}; expected 8.0 or later, which multiplies "
                      "bf16",
                      device->name(), capability / 10, capability % 10)
            .str());
  return device;
}

CudaDevice::~CudaDevice() {
  llmmem_ranks_leave_device(/*failed=*/1);
  llmmem_cuda_close(run);
}

llvm::Error CudaDevice::joinRanks(const std::string &nccl) {
  char message[1024];
  if (llmmem_ranks_use_device(run, nccl.empty() ? nullptr : nccl.c_str(), message, sizeof message))
    return llvm::make_error<DeviceError>(message);
  return llvm::Error::success();
}

void CudaDevice::leaveRanks() { llmmem_ranks_leave_device(/*failed=*/0); }

int64_t CudaDevice::ncclBytes() { return llmmem_device_ranks_bytes(); }

llvm::StringRef CudaDevice::name() const { return llmmem_cuda_device_name(run); }

std::string CudaDevice::chip() const {
  return llmmem_cuda_capability(run) == 90 ? "sm_90a" : "sm_80";
}

llvm::Expected<llvm::json::Object> CudaDevice::describe() {
  llmmem_cuda_facts facts;
  if (llmmem_cuda_describe(run, &facts))
    return outcome(1);
  return llvm::json::Object{{"name", name()},
                            {"capability", llmmem_cuda_capability(run)},
                            {"chip", chip()},
                            {"cuda", facts.cuda_version},
                            {"clock_khz", facts.clock_khz},
                            {"memory_clock_khz", facts.memory_clock_khz},
                            {"multiprocessors", facts.multiprocessors},
                            {"free_bytes", facts.free_bytes},
                            {"total_bytes", facts.total_bytes}};
}

llvm::Error CudaDevice::openProducts(llvm::ArrayRef<std::string> libraries) {
  std::string reasons;
  for (const std::string &library : libraries) {
    char message[1024];
    if (!llmmem_cuda_open_products(run, library.c_str(), message, sizeof message))
      return llvm::Error::success();
    reasons += (reasons.empty() ? "" : "; ") + std::string(message);
  }
  return llvm::make_error<DeviceError>(reasons);
}

std::string CudaDevice::products() const {
  const llmmem_products *products = llmmem_cuda_products(run);
  if (!products)
    return "";
  int64_t version = llmmem_products_version(products);
  return llvm::formatv("cuBLASLt {0}.{1}.{2}", version / 10000, version / 100 % 100, version % 100);
}

CudaDevice::AlgorithmCounts CudaDevice::countAlgorithms() const {
  AlgorithmCounts counts;
  const llmmem_products *products = llmmem_cuda_products(run);
  for (size_t k = 0; products && k < llmmem_products_count(products); ++k)
    ++(llmmem_products_algorithm(products, k)->is_given ? counts.given : counts.chosen);
  return counts;
}

llvm::Error CudaDevice::keepAlgorithms(const std::string &folder) {
  char message[1024];
  if (llmmem_cuda_keep_algorithms(run, folder.c_str(), message, sizeof message))
    return llvm::createStringError(message);
  return llvm::Error::success();
}

std::optional<std::string> CudaDevice::whyMissing(const llmmem_product &product) const {
  llmmem_products *products = llmmem_cuda_products(run);
  if (!products || llmmem_products_can(products, &product))
    return std::nullopt;
  return llmmem_products_message(products);
}

std::optional<int64_t> CudaDevice::failedProduct() const {
  int64_t number = llmmem_cuda_failed_product(run);
  return number < 0 ? std::nullopt : std::optional(number);
}

llvm::Error CudaDevice::outcome(int failed) const {
  if (!failed)
    return llvm::Error::success();
  return llvm::make_error<DeviceError>(llmmem_cuda_message(run));
}

llvm::Expected<int64_t> CudaDevice::load(llvm::ArrayRef<std::string> ptx,
                                         llvm::ArrayRef<Kernel> kernels) {
  // A run begins with the first one.
  if (functions > 0 && llmmem_cuda_begin_program(run) < 0)
    return outcome(1);
  for (const std::string &module : ptx)
    if (llmmem_cuda_load(run, module.c_str()))
      return outcome(1);
  for (const Kernel &kernel : kernels)
    if (llmmem_cuda_add_kernel(run, kernel.module, kernel.name.c_str()))
      return outcome(1);
  return functions++;
}

llvm::Error CudaDevice::choose(int64_t function) {
  return outcome(llmmem_cuda_choose_program(run, function));
}

llvm::Error CudaDevice::reserve(int64_t resident, int64_t arena) {
  return outcome(llmmem_cuda_reserve(run, resident, arena));
}

uint64_t CudaDevice::resident() const { return llmmem_cuda_resident(run); }
uint64_t CudaDevice::arena() const { return llmmem_cuda_arena(run); }

llvm::Error CudaDevice::check() const { return outcome(*llmmem_cuda_message(run) != 0); }

llvm::Expected<int64_t> CudaDevice::measuredBytes() {
  int64_t bytes = llmmem_cuda_measured_bytes(run);
  if (bytes < 0)
    return outcome(1);
  return bytes;
}

llvm::Error CudaDevice::pin(void *begin, int64_t bytes) {
  return outcome(llmmem_cuda_pin(run, begin, bytes));
}

void CudaDevice::unpin(void *begin) { llmmem_cuda_unpin(run, begin); }

llvm::Error CudaDevice::upload(uint64_t to, const void *from, int64_t bytes) {
  return outcome(llmmem_cuda_upload(run, to, from, bytes));
}

llvm::Error CudaDevice::download(void *to, uint64_t from, int64_t bytes) {
  return outcome(llmmem_cuda_download(run, to, from, bytes));
}

llvm::Error CudaDevice::clear(uint64_t to, int64_t bytes) {
  return outcome(llmmem_cuda_fill(run, to, 0, bytes));
}

namespace {
/// Wraps a step as the runtime calls it.
struct Launching {
  llvm::function_ref<void(llmmem_cuda *run)> step;
  llmmem_cuda *run;
};
} // namespace

static void launch(void *opaque) {
  auto *launching = static_cast<Launching *>(opaque);
  launching->step(launching->run);
}

llvm::Error CudaDevice::capture(llvm::function_ref<void(llmmem_cuda *run)> step) {
  Launching launching = {step, run};
  return outcome(llmmem_cuda_capture(run, launch, &launching));
}

llvm::Error CudaDevice::replay() { return outcome(llmmem_cuda_replay(run)); }

int64_t CudaDevice::replayNs() const { return llmmem_cuda_replay_ns(run); }

llvm::Error CudaDevice::runMarked(llvm::function_ref<void(llmmem_cuda *run)> step,
                                  llvm::MutableArrayRef<int64_t> ns) {
  Launching launching = {step, run};
  return outcome(llmmem_cuda_run_marked(run, launch, &launching, ns.data(), ns.size()));
}

llvm::Error CudaDevice::readStarts(llvm::MutableArrayRef<int64_t> ns) {
  return outcome(llmmem_cuda_read_starts(run, ns.data(), static_cast<int64_t>(ns.size())));
}
