//===- ThreadTransport.cpp - Ranks that are threads of one process ---------===//

#include "ThreadTransport.h"
#include "llmmem/Runtime/Collectives.h"
#include "llmmem/Runtime/Parallel.h"
#include "gtest/gtest.h"
#include <barrier>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <thread>

namespace {

/// Holds what the members of a group exchange between two barriers.
struct Meeting {
  explicit Meeting(int size) : addresses(size), bytes(size), targets(size), barrier(size) {}
  std::vector<const void *> addresses;
  std::vector<int64_t> bytes;
  std::vector<int32_t> targets;
  std::barrier<> barrier;
};

struct ThreadJob {
  explicit ThreadJob(int ranks) : all(ranks), colors(ranks), keys(ranks) {}
  Meeting all;
  std::vector<int32_t> colors, keys;
  std::mutex lock;
  std::map<std::pair<int, std::vector<int>>, std::unique_ptr<Meeting>> meetings;
  /// The letters by group, sender and receiver.
  std::map<std::tuple<Meeting *, int, int>, std::vector<std::vector<char>>> letters;
};

struct Rank {
  ThreadJob *job;
  int rank, opened = 0;
  std::vector<std::unique_ptr<llmmem_group>> groups;
};

struct Receive {
  void *received;
  int64_t bytes;
  int from;
};

} // namespace

struct llmmem_group {
  Meeting *meeting;
  int position, size;
  std::vector<Receive> started = {};
};

/// Shows `data`, lets `receive` read what the others show, and leaves together with them.
static int meet(llmmem_group *group, const void *data, const std::function<void()> &receive) {
  group->meeting->addresses[group->position] = data;
  group->meeting->barrier.arrive_and_wait();
  receive();
  group->meeting->barrier.arrive_and_wait();
  return 0;
}

static const char *shownBy(llmmem_group *group, int position) {
  return static_cast<const char *>(group->meeting->addresses[position]);
}

static int openGroup(void *state, int32_t color, int32_t key, llmmem_group **group) {
  auto &self = *static_cast<Rank *>(state);
  ThreadJob &job = *self.job;
  job.colors[self.rank] = color;
  job.keys[self.rank] = key;
  job.all.barrier.arrive_and_wait();
  std::vector<int> members;
  for (int rank = 0; rank < static_cast<int>(job.colors.size()); ++rank)
    if (job.colors[rank] == color)
      members.push_back(rank);
  std::sort(members.begin(), members.end(),
            [&](int a, int b) { return job.keys[a] < job.keys[b]; });
  int size = static_cast<int>(members.size());
  Meeting *meeting;
  {
    std::lock_guard<std::mutex> guard(job.lock);
    auto &made = job.meetings[{self.opened++, members}];
    if (!made)
      made = std::make_unique<Meeting>(size);
    meeting = made.get();
  }
  int position =
      static_cast<int>(std::find(members.begin(), members.end(), self.rank) - members.begin());
  self.groups.push_back(std::make_unique<llmmem_group>(llmmem_group{meeting, position, size}));
  *group = self.groups.back().get();
  job.all.barrier.arrive_and_wait();
  return 0;
}

static int scatter(void *, llmmem_group *group, const void *whole, llmmem_pieces pieces,
                   void *received) {
  return meet(group, whole, [&] {
    int64_t own = llmmem_piece_bytes(pieces, group->position);
    for (int from = 0; from < group->size && own; ++from)
      std::memcpy(static_cast<char *>(received) + from * own,
                  shownBy(group, from) + group->position * pieces.size, own);
  });
}

static int gather(void *, llmmem_group *group, void *whole, llmmem_pieces pieces) {
  return meet(group, whole, [&] {
    for (int from = 0; from < group->size; ++from)
      if (int64_t bytes = llmmem_piece_bytes(pieces, from); from != group->position && bytes)
        std::memcpy(static_cast<char *>(whole) + from * pieces.size,
                    shownBy(group, from) + from * pieces.size, bytes);
  });
}

static int broadcast(void *, llmmem_group *group, void *data, int64_t bytes, int32_t root) {
  return meet(group, data, [&] {
    if (group->position != root && bytes)
      std::memcpy(data, shownBy(group, root), bytes);
  });
}

/// Every pair has its own slots, as only the two meet.
static int exchange(void *state, llmmem_group *group, const void *sent, int64_t sentBytes,
                    int32_t to, void *received, int64_t receivedBytes, int32_t from) {
  ThreadJob &job = *static_cast<Rank *>(state)->job;
  if (to >= 0) {
    const char *begin = static_cast<const char *>(sent);
    std::lock_guard<std::mutex> guard(job.lock);
    job.letters[{group->meeting, group->position, to}].emplace_back(begin, begin + sentBytes);
  }
  while (from >= 0) {
    std::this_thread::yield();
    std::lock_guard<std::mutex> guard(job.lock);
    auto &box = job.letters[{group->meeting, from, group->position}];
    if (box.empty())
      continue;
    EXPECT_EQ(static_cast<int64_t>(box.front().size()), receivedBytes);
    if (receivedBytes > 0)
      std::memcpy(received, box.front().data(), receivedBytes);
    box.erase(box.begin());
    break;
  }
  return 0;
}

static int startSend(void *state, llmmem_group *group, const void *sent, int64_t bytes,
                     int32_t to) {
  return exchange(state, group, sent, bytes, to, nullptr, 0, -1);
}

static int startReceive(void *, llmmem_group *group, void *received, int64_t bytes, int32_t from) {
  group->started.push_back({received, bytes, from});
  return 0;
}

static int waitAll(void *state, llmmem_group *group) {
  for (const Receive &receive : std::exchange(group->started, {}))
    exchange(state, group, nullptr, 0, -1, receive.received, receive.bytes, receive.from);
  return 0;
}

static int waitForAll(void *, llmmem_group *group) {
  group->meeting->barrier.arrive_and_wait();
  return 0;
}

void runAsRanks(const std::vector<int64_t> &sizes, const std::function<void(int rank)> &work) {
  int ranks = std::accumulate(sizes.begin(), sizes.end(), 1, std::multiplies<>());
  ThreadJob job(ranks);
  auto runRank = [&](int number) {
    Rank rank{&job, number, 0, {}};
    llmmem_transport transport = {};
    transport.version = LLMMEM_TRANSPORT_VERSION;
    transport.rank = number;
    transport.ranks = ranks;
    transport.serialized = 1;
    transport.state = &rank;
    transport.open_group = openGroup;
    transport.scatter = scatter;
    transport.gather = gather;
    transport.broadcast = broadcast;
    transport.exchange = exchange;
    transport.start_send = startSend;
    transport.start_receive = startReceive;
    transport.wait_all = waitAll;
    transport.barrier = waitForAll;
    transport.abort = [](void *, int32_t code) { std::exit(code); };
    transport.close = [](void *) {};
    llmmem_set_threads(1);
    char message[512];
    ASSERT_EQ(llmmem_ranks_join(&transport, static_cast<int64_t>(sizes.size()), sizes.data(),
                                message, sizeof message),
              0)
        << message;
    work(number);
    llmmem_ranks_end();
  };
  std::vector<std::thread> threads;
  threads.reserve(ranks);
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back(runRank, rank);
  for (std::thread &thread : threads)
    thread.join();
}
