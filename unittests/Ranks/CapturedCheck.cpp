//===- CapturedCheck.cpp - Collectives of a captured step ------------------===//

#include "CapturedCheck.h"
#include "llmmem/Runtime/Started.h"
#include <vector>

namespace {

/// Buffers of a step, of `kCount` floats a rank, at multiples of 256 bytes.
constexpr int64_t kCount = 1000, kBytes = 4096;
enum StepBuffer { X, Sum, Part, Whole, Received, Gathered };

struct Step {
  llmmem_cuda *run;
  int64_t axes, ranks = llmmem_ranks(), rank = llmmem_rank();

  void *at(StepBuffer place) const {
    int64_t begin = 0;
    for (int before = 0; before < place; ++before)
      begin += before == Whole ? ranks * kBytes : kBytes;
    return reinterpret_cast<void *>(llmmem_cuda_resident(run) + begin);
  }
  int64_t bytes() const { return (5 + ranks) * kBytes + ranks * kBytes; }
};

/// Holds the arguments of a started call, as a compiled step passes them.
struct Started {
  const Step *step;
};

void gatherSums(void *context, int64_t, int64_t) {
  const Step &step = *static_cast<Started *>(context)->step;
  llmmem_all_gather(step.at(Sum), step.at(Whole), kCount, LLMMEM_ELEMENT_F32, step.axes);
}

void scatterSums(void *context, int64_t, int64_t) {
  const Step &step = *static_cast<Started *>(context)->step;
  llmmem_reduce_scatter(step.at(Whole), step.at(Part), nullptr, kCount, LLMMEM_ELEMENT_F32,
                        step.axes);
}

/// Sum = the sum of x; Whole = all sums; Part = the sum of a part of Whole; Received = x of the
/// neighbour; Gathered = x of all.
void launch(void *context) {
  const Step &step = *static_cast<Step *>(context);
  Started started{&step};
  llmmem_all_reduce(step.at(X), step.at(Sum), nullptr, kCount, LLMMEM_ELEMENT_F32, step.axes);
  llmmem_start(gatherSums, &started, sizeof started);
  llmmem_start(scatterSums, &started, sizeof started);
  llmmem_wait();
  int64_t next = (step.rank + 1) % step.ranks, last = (step.rank + step.ranks - 1) % step.ranks;
  llmmem_exchange_receive(step.at(Received), kCount, LLMMEM_ELEMENT_F32, step.axes, last);
  llmmem_exchange_send(step.at(X), kCount, LLMMEM_ELEMENT_F32, step.axes, next);
  llmmem_exchange_end(step.axes);
  llmmem_wait();
  llmmem_all_gather(step.at(X), step.at(Gathered), kCount, LLMMEM_ELEMENT_F32, step.axes);
}

float valueOf(int64_t batch, int64_t rank, int64_t i) {
  return static_cast<float>((batch + 1) * (rank + 1) * (i % 97));
}

std::string compare(const Step &step, StepBuffer place, const char *name, int64_t count,
                    const std::vector<float> &expected) {
  std::vector<float> found(count);
  if (llmmem_cuda_download(step.run, found.data(), reinterpret_cast<uint64_t>(step.at(place)),
                           count * static_cast<int64_t>(sizeof(float))))
    return llmmem_cuda_message(step.run);
  return found == expected ? "" : name + std::string(" differs from its definition");
}

std::string checkBatch(const Step &step, int64_t batch) {
  std::vector<float> x, sum, received, gathered, whole;
  for (int64_t i = 0; i < kCount; ++i) {
    x.push_back(valueOf(batch, step.rank, i));
    received.push_back(valueOf(batch, (step.rank + step.ranks - 1) % step.ranks, i));
    float all = 0;
    for (int64_t rank = 0; rank < step.ranks; ++rank)
      all += valueOf(batch, rank, i);
    sum.push_back(all);
  }
  for (int64_t rank = 0; rank < step.ranks; ++rank)
    for (int64_t i = 0; i < kCount; ++i) {
      whole.push_back(sum[i]);
      gathered.push_back(valueOf(batch, rank, i));
    }
  std::vector<float> part = sum;
  for (float &one : part)
    one *= static_cast<float>(step.ranks);
  if (llmmem_cuda_upload(step.run, reinterpret_cast<uint64_t>(step.at(X)), x.data(),
                         kCount * static_cast<int64_t>(sizeof(float))) ||
      llmmem_cuda_replay(step.run))
    return llmmem_cuda_message(step.run);
  for (std::string said : {compare(step, Sum, "all_reduce", kCount, sum),
                           compare(step, Whole, "a started all_gather", kCount * step.ranks, whole),
                           compare(step, Part, "a started reduce_scatter", kCount, part),
                           compare(step, Received, "an exchange", kCount, received),
                           compare(step, Gathered, "all_gather", kCount * step.ranks, gathered)})
    if (!said.empty())
      return "rank " + std::to_string(step.rank) + ": " + said;
  return "";
}

} // namespace

std::string checkCaptured(llmmem_cuda *run, int64_t axes) {
  Step step{run, axes};
  if (llmmem_cuda_reserve(run, step.bytes(), 256) || llmmem_cuda_capture(run, launch, &step))
    return llmmem_cuda_message(run);
  for (int64_t batch : {0, 1})
    if (std::string said = checkBatch(step, batch); !said.empty())
      return said;
  return "";
}
