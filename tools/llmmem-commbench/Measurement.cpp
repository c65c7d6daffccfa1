//===- Measurement.cpp - What a collective takes on this machine -----------===//

#include "Measurement.h"
#include "llmmem/Runtime/Collectives.h"
#include "llmmem/Runtime/Runtime.h"
#include <algorithm>

using namespace llmmem;

namespace {
/// Buffers for the largest value, in f32, and one call of each collective on them.
class Calls {
public:
  Calls(int64_t bytes, int64_t ranks)
      : x(elementsFor(bytes, ranks), 1.0f), y(x.size()), workspace(x.size()) {}

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
  /// Sums need ranks * ceil(elements / ranks) as workspace.
  static int64_t elementsFor(int64_t bytes, int64_t ranks) {
    return bytes / static_cast<int64_t>(sizeof(float)) + ranks;
  }

  static constexpr int64_t kElement = LLMMEM_ELEMENT_F32;
  void allGather(int64_t count, int64_t ranks, int64_t axes) {
    llmmem_all_gather(x.data(), y.data(), count / ranks, kElement, axes);
  }
  void allReduce(int64_t count, int64_t, int64_t axes) {
    llmmem_all_reduce(x.data(), y.data(), workspace.data(), count, kElement, axes);
  }
  void allToAll(int64_t count, int64_t ranks, int64_t axes) {
    llmmem_all_to_all(x.data(), y.data(), count / ranks, kElement, axes);
  }
  void broadcast(int64_t count, int64_t, int64_t axes) {
    llmmem_broadcast(x.data(), y.data(), count, kElement, axes, 0);
  }
  void reduce(int64_t count, int64_t, int64_t axes) {
    llmmem_reduce(x.data(), y.data(), workspace.data(), count, kElement, axes, 0);
  }
  void reduceScatter(int64_t count, int64_t ranks, int64_t axes) {
    llmmem_reduce_scatter(x.data(), y.data(), workspace.data(), count / ranks, kElement, axes);
  }
  void sendReceive(int64_t count, int64_t, int64_t axes) {
    llmmem_send_receive(x.data(), y.data(), count, kElement, axes, 1, 1);
  }

  std::vector<float> x, y, workspace;
};
} // namespace

std::vector<int64_t> llmmem::axesOf(int64_t ranks) {
  std::vector<int64_t> axes;
  for (int64_t factor = 2; factor <= ranks; ++factor)
    for (; ranks % factor == 0; ranks /= factor)
      axes.push_back(factor);
  return axes;
}

/// What the slowest of all ranks takes for one call; all begin together.
static int64_t timeOnce(llvm::function_ref<void()> call, int64_t allAxes) {
  std::vector<int64_t> taken(llmmem_ranks());
  int64_t own = 0;
  llmmem_all_gather_bytes(&own, taken.data(), sizeof own, allAxes);
  int64_t begin = llmmem_clock();
  call();
  own = llmmem_clock() - begin;
  llmmem_all_gather_bytes(&own, taken.data(), sizeof own, allAxes);
  return *std::max_element(taken.begin(), taken.end());
}

void llmmem::measureCollectives(llvm::ArrayRef<int64_t> axes, const MeasurementRange &range,
                                llvm::function_ref<void(const CollectiveTime &)> report) {
  int64_t allAxes = (int64_t{1} << axes.size()) - 1, ranks = 1, bits = 0;
  for (size_t axis = axes.size(); axis-- > 0;) {
    ranks *= axes[axis];
    bits |= int64_t{1} << axis;
    Calls calls(range.largest, ranks);
    for (const Calls::Call &call : Calls::all())
      for (int64_t bytes = range.smallest; bytes <= range.largest; bytes *= 2) {
        auto run = [&] { (calls.*call.run)(bytes / sizeof(float), ranks, bits); };
        timeOnce(run, allAxes); // the first touches pages
        std::vector<int64_t> times;
        for (int repetition = 0; repetition < range.repetitions; ++repetition)
          times.push_back(timeOnce(run, allAxes));
        std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
        report({call.op, ranks, bytes, std::max<int64_t>(times[times.size() / 2], 1)});
      }
  }
}
