//===- Measurement.cpp - What a collective takes on this machine -----------===//

#include "Measurement.h"
#include "llmmem/Runtime/DeviceRanks.h"
#include "llmmem/Runtime/Runtime.h"
#include <algorithm>

using namespace llmmem;

namespace {
/// The buffers that calls read and write, for the largest value, in f32, over all ranks.
struct Buffers {
  std::vector<float> onHost;
  float *x, *y, *workspace;

  /// Sums need ranks * ceil(elements / ranks) as workspace.
  Buffers(int64_t bytes, llmmem_cuda *device) {
    int64_t elements = bytes / static_cast<int64_t>(sizeof(float)) + llmmem_ranks();
    elements = (elements + 63) / 64 * 64;
    if (device)
      llmmem_cuda_reserve(device, 3 * elements * static_cast<int64_t>(sizeof(float)), 0);
    else
      onHost.assign(3 * elements, 1.0f);
    x = device ? reinterpret_cast<float *>(llmmem_cuda_resident(device)) : onHost.data();
    y = x + elements;
    workspace = y + elements;
  }
};

/// The calls of one measurement: one of each collective.
class Calls {
public:
  explicit Calls(const Buffers &buffers)
      : x(buffers.x), y(buffers.y), workspace(buffers.workspace) {}

  struct Call {
    llvm::StringLiteral op;
    void (Calls::*run)(int64_t elements, int64_t ranks, int64_t axes);
  };
  static llvm::ArrayRef<Call> all() {
    static constexpr Call calls[] = {
        {"all_gather", &Calls::allGather},    {"all_reduce", &Calls::allReduce},
        {"all_to_all", &Calls::allToAll},     {"broadcast", &Calls::broadcast},
        {"reduce", &Calls::reduce},           {"reduce_scatter", &Calls::reduceScatter},
        {"send_receive", &Calls::sendReceive}};
    return calls;
  }

private:
  static constexpr int64_t kElement = LLMMEM_ELEMENT_F32;
  void allGather(int64_t count, int64_t ranks, int64_t axes) {
    llmmem_all_gather(x, y, count / ranks, kElement, axes);
  }
  void allReduce(int64_t count, int64_t, int64_t axes) {
    llmmem_all_reduce(x, y, workspace, count, kElement, axes);
  }
  void allToAll(int64_t count, int64_t ranks, int64_t axes) {
    llmmem_all_to_all(x, y, count / ranks, kElement, axes);
  }
  void broadcast(int64_t count, int64_t, int64_t axes) {
    llmmem_broadcast(x, y, count, kElement, axes, 0);
  }
  void reduce(int64_t count, int64_t, int64_t axes) {
    llmmem_reduce(x, y, workspace, count, kElement, axes, 0);
  }
  void reduceScatter(int64_t count, int64_t ranks, int64_t axes) {
    llmmem_reduce_scatter(x, y, workspace, count / ranks, kElement, axes);
  }
  void sendReceive(int64_t count, int64_t, int64_t axes) {
    llmmem_send_receive(x, y, count, kElement, axes, 1, 1);
  }

  float *x, *y, *workspace;
};
} // namespace

std::vector<int64_t> llmmem::axesOf(int64_t ranks) {
  std::vector<int64_t> axes;
  for (int64_t factor = 2; factor <= ranks; ++factor)
    for (; ranks % factor == 0; ranks /= factor)
      axes.push_back(factor);
  return axes;
}

/// Returns what the device takes for a call, between two events.
static int64_t timeOnDevice(llvm::function_ref<void()> call, llmmem_cuda *device) {
  struct Marked {
    llvm::function_ref<void()> call;
    llmmem_cuda *device;
  } marked{call, device};
  auto run = [](void *context) {
    auto *of = static_cast<Marked *>(context);
    llmmem_cuda_mark(of->device, 0);
    of->call();
    llmmem_cuda_mark(of->device, 1);
  };
  int64_t ns = 0;
  llmmem_cuda_run_marked(device, run, &marked, &ns, 1);
  return ns;
}

static int64_t timeOnHost(llvm::function_ref<void()> call) {
  int64_t begin = llmmem_clock();
  call();
  return llmmem_clock() - begin;
}

/// Returns what the slowest of all ranks takes for one call; all begin together.
static int64_t timeOnce(llvm::function_ref<void()> call, int64_t allAxes, llmmem_cuda *device) {
  std::vector<int64_t> taken(llmmem_ranks());
  int64_t own = 0;
  llmmem_all_gather_bytes(&own, taken.data(), sizeof own, allAxes);
  own = device ? timeOnDevice(call, device) : timeOnHost(call);
  llmmem_all_gather_bytes(&own, taken.data(), sizeof own, allAxes);
  return *std::max_element(taken.begin(), taken.end());
}

void llmmem::measureCollectives(llvm::ArrayRef<int64_t> axes, const MeasurementRange &range,
                                llvm::function_ref<void(const CollectiveTime &)> report) {
  Buffers buffers(range.largest, range.device);
  Calls calls(buffers);
  int64_t allAxes = (int64_t{1} << axes.size()) - 1, ranks = 1, bits = 0;
  for (size_t axis = axes.size(); axis-- > 0;) {
    ranks *= axes[axis];
    bits |= int64_t{1} << axis;
    for (const Calls::Call &call : Calls::all())
      for (int64_t bytes = range.smallest; bytes <= range.largest; bytes *= 2) {
        auto run = [&] { (calls.*call.run)(bytes / sizeof(float), ranks, bits); };
        timeOnce(run, allAxes, range.device); // the first touches pages
        std::vector<int64_t> times;
        for (int repetition = 0; repetition < range.repetitions; ++repetition)
          times.push_back(timeOnce(run, allAxes, range.device));
        std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
        report({call.op, ranks, bytes, std::max<int64_t>(times[times.size() / 2], 1)});
      }
  }
}
