//===- SocketJobTest.cpp - Ranks that meet among strangers -----------------===//
//
// Ranks are threads, over the loopback. Whoever is no rank of the job is turned away, and the ranks
// meet all the same.
//
//===----------------------------------------------------------------------===//

extern "C" {
#include "SocketJob.h"
#include "Handshake.h"
}
#include "gtest/gtest.h"
#include <arpa/inet.h>
#include <climits>
#include <cstring>
#include <future>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

sockaddr_in addressOf(const char *host, int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  inet_pton(AF_INET, host, &address.sin_addr);
  return address;
}

/// A socket that is closed with its scope.
class Socket {
public:
  explicit Socket(int descriptor) : descriptor(descriptor) {
    // A test that waits in vain fails instead.
    timeval patience = {10, 0};
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  }
  Socket(Socket &&other) noexcept : descriptor(std::exchange(other.descriptor, -1)) {}
  ~Socket() {
    if (descriptor >= 0)
      ::close(descriptor);
  }

  /// Connected, as soon as somebody listens.
  static Socket to(int port) {
    sockaddr_in address = addressOf("127.0.0.1", port);
    for (int attempt = 0; attempt < 4000; ++attempt) {
      Socket made(socket(AF_INET, SOCK_STREAM, 0));
      if (connect(made.descriptor, reinterpret_cast<sockaddr *>(&address), sizeof address) == 0)
        return made;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    ADD_FAILURE() << "nobody listens at port " << port;
    return Socket(-1);
  }
  static Socket listening(int *port) {
    Socket made(socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address = addressOf("127.0.0.1", 0);
    socklen_t length = sizeof address;
    EXPECT_EQ(bind(made.descriptor, reinterpret_cast<sockaddr *>(&address), sizeof address), 0);
    listen(made.descriptor, 8);
    getsockname(made.descriptor, reinterpret_cast<sockaddr *>(&address), &length);
    *port = ntohs(address.sin_port);
    return made;
  }
  Socket accepted() const { return Socket(accept(descriptor, nullptr, nullptr)); }

  bool say(const void *bytes, size_t count) const {
    return send(descriptor, bytes, count, MSG_NOSIGNAL) == static_cast<ssize_t>(count);
  }
  bool say(const std::string &text) const { return say(text.data(), text.size()); }
  template <typename T>
  bool hear(T &value) const {
    return recv(descriptor, &value, sizeof value, MSG_WAITALL) ==
           static_cast<ssize_t>(sizeof value);
  }
  /// Returns whether the other side has closed the connection without another byte.
  bool isTurnedAway() const {
    char byte;
    ssize_t count = recv(descriptor, &byte, 1, 0);
    return count == 0 || (count < 0 && errno == ECONNRESET);
  }

private:
  int descriptor;
};

int freePort() {
  int port = 0;
  Socket::listening(&port);
  return port;
}

SocketJob jobOf(int rank, int ranks, int port) {
  SocketJob job = {};
  job.rank = rank;
  job.ranks = ranks;
  job.port = port;
  job.seconds = 30;
  std::strcpy(job.host, "127.0.0.1");
  std::memset(job.token, 7, sizeof job.token);
  return job;
}

/// The outcome of a rank: its connections, or why there are none.
struct Met {
  std::vector<int> peers;
  std::string message;
  bool failed;

  ~Met() {
    for (int peer : peers)
      if (peer >= 0)
        close(peer);
  }
};

using Rank = std::future<std::shared_ptr<Met>>;

Rank start(SocketJob job) {
  return std::async(std::launch::async, [job] {
    auto met = std::make_shared<Met>();
    char message[1024];
    met->peers.resize(job.ranks);
    met->failed = llmmem_connect_ranks(&job, met->peers.data(), message, sizeof message);
    met->message = message;
    return met;
  });
}

/// Every two ranks have one connection.
void expectConnected(std::vector<Rank> ranks) {
  std::vector<std::shared_ptr<Met>> met;
  met.reserve(ranks.size());
  for (Rank &rank : ranks)
    met.push_back(rank.get());
  for (auto &rank : met)
    ASSERT_FALSE(rank->failed) << rank->message;
  for (size_t from = 0; from < met.size(); ++from)
    for (size_t to = 0; to < met.size(); ++to) {
      if (from == to)
        continue;
      int sent = static_cast<int>(100 * from + to), received = 0;
      ASSERT_EQ(send(met[from]->peers[to], &sent, sizeof sent, 0), (ssize_t)sizeof sent);
      ASSERT_EQ(recv(met[to]->peers[from], &received, sizeof received, MSG_WAITALL),
                (ssize_t)sizeof received);
      EXPECT_EQ(received, sent);
    }
}

/// Rank 0 of two, and what another test adds to it before rank 1 comes.
struct TwoRanks {
  int port = freePort();
  Rank first = start(jobOf(0, 2, port));

  void meet() {
    std::vector<Rank> ranks;
    ranks.push_back(std::move(first));
    ranks.push_back(start(jobOf(1, 2, port)));
    expectConnected(std::move(ranks));
  }
};

/// Returns what rank 0 says to whoever knows the token and says these numbers.
int32_t refusalOf(int port, int32_t rank, int32_t ranks, int32_t ownPort) {
  SocketJob job = jobOf(1, 2, port);
  Hello hello;
  Challenge challenge;
  Answer answer;
  Verdict verdict = {-1};
  llmmem_say_hello(rank, ranks, ownPort, &hello);
  Socket socket = Socket::to(port);
  EXPECT_TRUE(socket.say(&hello, sizeof hello) && socket.hear(challenge));
  EXPECT_TRUE(llmmem_trust_challenge(job.token, &hello, &challenge));
  llmmem_answer(job.token, &hello, &challenge, &answer);
  EXPECT_TRUE(socket.say(&answer, sizeof answer) && socket.hear(verdict));
  EXPECT_TRUE(socket.isTurnedAway());
  return verdict.refusal;
}

TEST(SocketJobTest, RanksMeet) {
  int port = freePort();
  std::vector<Rank> ranks;
  for (int rank = 4; rank-- > 0;)
    ranks.insert(ranks.begin(), start(jobOf(rank, 4, port)));
  expectConnected(std::move(ranks));
}

TEST(SocketJobTest, WhoSpeaksAnotherProtocolIsTurnedAway) {
  TwoRanks job;
  Socket browser = Socket::to(job.port), older = Socket::to(job.port), zeros = Socket::to(job.port);
  browser.say("GET / HTTP/1.0\r\n\r\n" + std::string(100, 'x'));
  const int32_t greeting[4] = {1, 2, 4444, 0};
  older.say(std::string("llmmem1\0", 8) + std::string((const char *)greeting, sizeof greeting));
  zeros.say(std::string(1000, '\0'));
  EXPECT_TRUE(browser.isTurnedAway());
  EXPECT_TRUE(older.isTurnedAway());
  EXPECT_TRUE(zeros.isTurnedAway());
  job.meet();
}

TEST(SocketJobTest, AnImpostorLearnsNothing) {
  TwoRanks job;
  Hello hello;
  Challenge challenge;
  llmmem_say_hello(1, 2, 4444, &hello);
  Socket impostor = Socket::to(job.port);
  ASSERT_TRUE(impostor.say(&hello, sizeof hello) && impostor.hear(challenge));
  // What it has heard is no answer.
  impostor.say(challenge.proof, sizeof challenge.proof);
  EXPECT_TRUE(impostor.isTurnedAway());
  job.meet();
}

TEST(SocketJobTest, AnAnswerIsOfOneChallenge) {
  TwoRanks job;
  SocketJob own = jobOf(1, 2, job.port);
  Hello hello;
  Challenge first, second;
  Answer answer;
  llmmem_say_hello(1, 2, 4444, &hello);
  Socket heard = Socket::to(job.port), again = Socket::to(job.port);
  ASSERT_TRUE(heard.say(&hello, sizeof hello) && heard.hear(first));
  ASSERT_TRUE(again.say(&hello, sizeof hello) && again.hear(second));
  llmmem_answer(own.token, &hello, &first, &answer);
  again.say(&answer, sizeof answer);
  EXPECT_TRUE(again.isTurnedAway());
  job.meet();
}

TEST(SocketJobTest, SlowAndSilentStrangersHoldNobodyUp) {
  TwoRanks job;
  Hello hello;
  llmmem_say_hello(1, 2, 4444, &hello);
  Socket slow = Socket::to(job.port), silent = Socket::to(job.port);
  slow.say(&hello, 20);
  {
    Socket early = Socket::to(job.port);
  }
  job.meet();
  EXPECT_TRUE(silent.isTurnedAway());
}

TEST(SocketJobTest, MoreStrangersThanAreHeardAtOnce) {
  TwoRanks job;
  std::vector<Socket> strangers;
  strangers.reserve(100);
  for (int k = 0; k < 100; ++k)
    strangers.push_back(Socket::to(job.port));
  job.meet();
}

TEST(SocketJobTest, WhoGoesForLackOfRoomIsNotSaidToLackTheToken) {
  int port = freePort();
  SocketJob job = jobOf(0, 2, port);
  // All strangers come while rank 0 listens, on a busy machine, too.
  job.seconds = 5;
  Rank first = start(job);
  std::vector<Socket> strangers;
  strangers.reserve(70);
  for (int k = 0; k < 70; ++k)
    strangers.push_back(Socket::to(port));
  std::shared_ptr<Met> met = first.get();
  EXPECT_TRUE(strangers.front().isTurnedAway());
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "rank 1 did not come in time", met->message);
  EXPECT_PRED_FORMAT2(::testing::IsNotSubstring, "turned away", met->message);
}

TEST(SocketJobTest, RankZeroSaysWhereNoOtherMachineComes) {
  SocketJob job = jobOf(0, 2, freePort());
  job.seconds = 0.1;
  EXPECT_PRED_FORMAT2(::testing::IsNotSubstring, "LLMMEM_LISTEN_ADDRESS",
                      start(job).get()->message);
  strcpy(job.listen, job.host);
  strcpy(job.host, "node1.example");
  EXPECT_PRED_FORMAT2(::testing::IsSubstring,
                      "rank 0 listens at 127.0.0.1, where no other machine comes; set "
                      "LLMMEM_LISTEN_ADDRESS on rank 0",
                      start(job).get()->message);
}

TEST(SocketJobTest, ASlowStrangerDoesNotMoveTheEnd) {
  int port = freePort();
  SocketJob job = jobOf(0, 2, port);
  job.seconds = 1;
  Rank first = start(job);
  Socket slow = Socket::to(port);
  // A hello, whose last byte would come long after the end.
  Hello hello;
  llmmem_say_hello(1, 2, 4444, &hello);
  size_t sent = 0;
  while (sent < sizeof hello && slow.say(reinterpret_cast<char *>(&hello) + sent, 1)) {
    ++sent;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_LT(sent, sizeof hello);
  std::shared_ptr<Met> met = first.get();
  EXPECT_TRUE(met->failed);
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "rank 1 did not come in time (LLMMEM_JOIN_SECONDS",
                      met->message);
}

TEST(SocketJobTest, WrongNumbersAreRefused) {
  TwoRanks job;
  for (int32_t rank : {0, -1, 2, INT_MAX, INT_MIN})
    EXPECT_EQ(refusalOf(job.port, rank, 2, 4444), NO_SUCH_RANK) << rank;
  for (int32_t ranks : {0, -1, 1, 3, INT_MAX})
    EXPECT_EQ(refusalOf(job.port, 1, ranks, 4444), OTHER_RANKS) << ranks;
  for (int32_t port : {0, -1, 65536, INT_MAX})
    EXPECT_EQ(refusalOf(job.port, 1, 2, port), NO_SUCH_RANK) << port;
  job.meet();
}

TEST(SocketJobTest, ASecondRankOfANumberIsRefused) {
  int port = freePort();
  std::vector<Rank> ranks;
  ranks.push_back(start(jobOf(0, 3, port)));
  // Which of the two is there first, nobody says; the other one is told.
  Rank one = start(jobOf(1, 3, port)), two = start(jobOf(1, 3, port));
  Rank *refused = nullptr;
  while (!refused) {
    if (one.wait_for(std::chrono::milliseconds(1)) == std::future_status::ready)
      refused = &one;
    else if (two.wait_for(std::chrono::milliseconds(1)) == std::future_status::ready)
      refused = &two;
  }
  std::shared_ptr<Met> met = refused->get();
  EXPECT_TRUE(met->failed);
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "another process is rank 1 already", met->message);
  ranks.push_back(std::move(refused == &one ? two : one));
  ranks.push_back(start(jobOf(2, 3, port)));
  expectConnected(std::move(ranks));
}

TEST(SocketJobTest, ASecondRankZeroIsRefused) {
  TwoRanks job;
  Socket::to(job.port); // rank 0 listens now
  std::shared_ptr<Met> second = start(jobOf(0, 2, job.port)).get();
  EXPECT_TRUE(second->failed);
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "could not listen", second->message);
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "Address already in use", second->message);
  job.meet();
}

TEST(SocketJobTest, ARankThatHasEndedMayComeAgain) {
  int port = freePort();
  std::vector<Rank> ranks;
  ranks.push_back(start(jobOf(0, 3, port)));
  SocketJob early = jobOf(1, 3, port);
  early.seconds = 2;
  std::shared_ptr<Met> ended = start(early).get();
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "rank 0 still waits for others", ended->message);
  ranks.push_back(start(jobOf(1, 3, port)));
  ranks.push_back(start(jobOf(2, 3, port)));
  expectConnected(std::move(ranks));
}

TEST(SocketJobTest, ARankOfAnotherJobIsToldSo) {
  TwoRanks job;
  SocketJob other = jobOf(1, 2, job.port);
  other.token[0] ^= 1;
  std::shared_ptr<Met> met = start(other).get();
  EXPECT_TRUE(met->failed);
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "who listens there has another token", met->message);
  job.meet();
}

TEST(SocketJobTest, RankZeroListensAtItsAddressAlone) {
  TwoRanks job;
  Socket::to(job.port);
  sockaddr_in elsewhere = addressOf("127.0.0.2", job.port);
  int stranger = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT_NE(connect(stranger, reinterpret_cast<sockaddr *>(&elsewhere), sizeof elsewhere), 0);
  close(stranger);
  job.meet();
}

TEST(SocketJobTest, AnAddressOfAnotherMachineIsNoneToListenAt) {
  SocketJob job = jobOf(0, 2, freePort());
  std::strcpy(job.host, "192.0.2.1"); // of documentation, RFC 5737
  std::shared_ptr<Met> met = start(job).get();
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "LLMMEM_LISTEN_ADDRESS", met->message);
}

TEST(SocketJobTest, RankZeroMayListenElsewhere) {
  int port = freePort();
  SocketJob first = jobOf(0, 2, port);
  std::strcpy(first.host, "192.0.2.1");
  std::strcpy(first.listen, "127.0.0.1");
  std::vector<Rank> ranks;
  ranks.push_back(start(first));
  ranks.push_back(start(jobOf(1, 2, port)));
  expectConnected(std::move(ranks));
}

/// A rank reports somebody else who listens where rank 0 should.
std::string meetAFalseRankZero(int rank, const std::function<void(const Socket &)> &act) {
  int port = 0;
  Socket listener = Socket::listening(&port);
  Rank honest = start(jobOf(rank, 3, port));
  Socket socket = listener.accepted();
  act(socket);
  std::shared_ptr<Met> met = honest.get();
  EXPECT_TRUE(met->failed);
  return met->message;
}

TEST(SocketJobTest, AFalseRankZeroIsNotTrusted) {
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "what listens there is no rank of this llmmem",
                      meetAFalseRankZero(1, [](const Socket &socket) {
                        socket.say(std::string(sizeof(Challenge), 'x'));
                      }));
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "who listens there has another token",
                      meetAFalseRankZero(1, [](const Socket &socket) {
                        uint8_t guessed[SHA256_BYTES] = {};
                        Hello hello;
                        Challenge challenge;
                        ASSERT_TRUE(socket.hear(hello));
                        llmmem_challenge(guessed, &hello, 0, 3, &challenge);
                        socket.say(&challenge, sizeof challenge);
                        // It is told nothing that it could use elsewhere.
                        EXPECT_TRUE(socket.isTurnedAway());
                      }));
}

TEST(SocketJobTest, PlacesOfOthersAreChecked) {
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "rank 0 names a port that is none",
                      meetAFalseRankZero(2, [](const Socket &socket) {
                        Hello hello;
                        Challenge challenge;
                        Answer answer;
                        Verdict verdict = {ADMITTED};
                        ASSERT_TRUE(socket.hear(hello));
                        llmmem_challenge(jobOf(0, 3, 1).token, &hello, 0, 3, &challenge);
                        socket.say(&challenge, sizeof challenge);
                        ASSERT_TRUE(socket.hear(answer));
                        const int32_t places[6] = {0, 0, INT_MAX, INT_MAX, 0, 0};
                        socket.say(&verdict, sizeof verdict);
                        socket.say(places, sizeof places);
                        EXPECT_TRUE(socket.isTurnedAway());
                      }));
}

} // namespace
