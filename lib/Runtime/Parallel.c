/*===- Parallel.c - Threads for compiled steps ------------------------------===*\
|*
|* A loop has seats for threads in addition to its caller. A worker counts as running from when it
|* takes a seat until it leaves. The caller closes the seats when no iteration is left and waits
|* for running workers. A worker that comes late, or never, finds no seat and delays no other
|* thread.
|*
|* Linux often wakes a worker on the core of the thread that woke it, and leaves both there while a
|* third, of another process, has the other core to itself. So a worker that finds another thread
|* of its loop on its core moves.
|*
\*===----------------------------------------------------------------------===*/

#define _GNU_SOURCE /* sched_getaffinity, syscall */
#include "llmmem/Runtime/Parallel.h"
#include "llmmem/Runtime/Runtime.h"
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
  kMostThreads = 1024,
  /* Iterations are handed out in this number of shares per thread. */
  kShares = 16,
  /* This is longer than the time between two loops of a step, and shorter than a time slice of the
   * system. */
  kSpinNanoseconds = 20000,
  kPausesPerClock = 16,
};

/* The two halves of Pool::state. */
static const uint32_t kSeat = 1u << 16, kRunning = (1u << 16) - 1;

typedef struct {
  llmmem_iterations run;
  void *context;
  int64_t count, share;
  int threads;
  _Atomic int64_t next;
} Loop;

typedef struct {
  Loop loop;               /* Changes only while no worker runs. */
  _Atomic uint32_t state;  /* Free seats, and running workers. */
  _Atomic uint32_t opened; /* Loops so far; workers sleep until it changes. */
  _Atomic uint32_t sleepers;
  _Atomic bool caller_waits;
  atomic_flag in_use;
  _Atomic int workers;
  int cores;
  /* Holds the last loop that a thread began on each core, as counted by `opened`. */
  _Atomic uint32_t last_loop_on[CPU_SETSIZE];
} Pool;

static Pool pool = {.in_use = ATOMIC_FLAG_INIT};
static pthread_once_t cores_once = PTHREAD_ONCE_INIT;

/* Both belong to one thread: how many threads its loops have (0: all), and whether it is inside
 * one. */
static _Thread_local int wanted_threads;
static _Thread_local bool inside_loop;

/*===----------------------------------------------------------------------===*\
|* How many
\*===----------------------------------------------------------------------===*/

static int at_most(long count, int most) { return count < most ? (int)count : most; }

static void count_cores(void) {
  cpu_set_t allowed;
  pool.cores = sched_getaffinity(0, sizeof allowed, &allowed) == 0
                   ? CPU_COUNT(&allowed)
                   : (int)sysconf(_SC_NPROCESSORS_ONLN);
  if (pool.cores < 1)
    pool.cores = 1;
}

static int default_threads(void) {
  pthread_once(&cores_once, count_cores);
  const char *text = getenv("OMP_NUM_THREADS");
  /* A list, "4,2", has a number for each level of nested loops, and the first is ours. */
  long asked = text ? strtol(text, NULL, 10) : 0;
  return at_most(asked > 0 ? asked : pool.cores, kMostThreads);
}

void llmmem_set_threads(int count) {
  if (count > 0)
    wanted_threads = at_most(count, kMostThreads);
}

int llmmem_threads(void) {
  if (wanted_threads == 0)
    wanted_threads = default_threads();
  return wanted_threads;
}

/*===----------------------------------------------------------------------===*\
|* Waiting
\*===----------------------------------------------------------------------===*/

static void sleep_while(_Atomic uint32_t *word, uint32_t value) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void wake(_Atomic uint32_t *word, int count) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

static void pause_briefly(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

static bool has_core_for_each(void) {
  return atomic_load_explicit(&pool.workers, memory_order_relaxed) < pool.cores;
}

/* Spinning saves the microseconds of a system call and a wakeup. For longer, or with more threads
 * than cores, it takes a core from a thread that could use it. */
static bool spin_until(bool (*holds)(uint32_t), uint32_t value) {
  if (holds(value))
    return true;
  if (!has_core_for_each())
    return false;
  for (int64_t begin = llmmem_clock(); llmmem_clock() - begin < kSpinNanoseconds;)
    for (int k = 0; k < kPausesPerClock; ++k) {
      if (holds(value))
        return true;
      pause_briefly();
    }
  return false;
}

static bool has_opened(uint32_t seen) { return atomic_load(&pool.opened) != seen; }

static bool all_left(uint32_t unused) {
  (void)unused;
  return (atomic_load(&pool.state) & kRunning) == 0;
}

/*===----------------------------------------------------------------------===*\
|* Cores
\*===----------------------------------------------------------------------===*/

/* Says that a thread of this loop begins here. Returns true where another has said so before. */
static bool begin_on_core(void) {
  int core = sched_getcpu();
  uint32_t loop = atomic_load(&pool.opened);
  return core >= 0 && core < CPU_SETSIZE && atomic_exchange(&pool.last_loop_on[core], loop) == loop;
}

/* Moves to a core where no thread of this loop has begun. The system may move it again. */
static void move_to_other_core(void) {
  cpu_set_t allowed, others;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
    return;
  others = allowed;
  uint32_t loop = atomic_load(&pool.opened);
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (atomic_load_explicit(&pool.last_loop_on[core], memory_order_relaxed) == loop)
      CPU_CLR(core, &others);
  if (CPU_COUNT(&others) > 0 && sched_setaffinity(0, sizeof others, &others) == 0)
    sched_setaffinity(0, sizeof allowed, &allowed);
}

/*===----------------------------------------------------------------------===*\
|* Iterations
\*===----------------------------------------------------------------------===*/

static void take_iterations(Loop *loop) {
  for (;;) {
    int64_t begin = atomic_fetch_add_explicit(&loop->next, loop->share, memory_order_relaxed);
    if (begin >= loop->count)
      return;
    int64_t left = loop->count - begin;
    loop->run(loop->context, begin, begin + (left < loop->share ? left : loop->share));
  }
}

/*===----------------------------------------------------------------------===*\
|* Workers
\*===----------------------------------------------------------------------===*/

static bool take_seat(void) {
  uint32_t state = atomic_load(&pool.state);
  while (state >= kSeat)
    if (atomic_compare_exchange_weak(&pool.state, &state, state - kSeat + 1))
      return true;
  return false;
}

static void leave_seat(void) {
  if ((atomic_fetch_sub(&pool.state, 1) & kRunning) == 1 && atomic_load(&pool.caller_waits))
    wake(&pool.state, 1);
}

static void wait_for_loop(uint32_t seen) {
  if (spin_until(has_opened, seen))
    return;
  atomic_fetch_add(&pool.sleepers, 1);
  while (!has_opened(seen))
    sleep_while(&pool.opened, seen);
  atomic_fetch_sub(&pool.sleepers, 1);
}

static void *work(void *unused) {
  inside_loop = true;
  for (uint32_t seen = 0;; seen = atomic_load(&pool.opened)) {
    if (take_seat()) {
      wanted_threads = pool.loop.threads;
      if (begin_on_core() && has_core_for_each())
        move_to_other_core();
      take_iterations(&pool.loop);
      leave_seat();
    }
    wait_for_loop(seen);
  }
  return unused;
}

/* Where the system gives no more threads, those that there are do the work. */
static void start_workers(int count) {
  if (pool.workers >= count)
    return;
  /* Signals belong to the caller. */
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  while (pool.workers < count && pthread_create(&thread, NULL, work, NULL) == 0) {
    pthread_detach(thread);
    ++pool.workers;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/*===----------------------------------------------------------------------===*\
|* Loops
\*===----------------------------------------------------------------------===*/

static void open_loop(int64_t count, llmmem_iterations run, void *context, int threads) {
  Loop *loop = &pool.loop;
  int64_t shares = kShares * (int64_t)threads;
  loop->run = run;
  loop->context = context;
  loop->count = count;
  loop->share = count < shares ? 1 : count / shares;
  loop->threads = threads;
  atomic_store_explicit(&loop->next, 0, memory_order_relaxed);
  int seats = count < threads ? (int)count - 1 : threads - 1;
  atomic_store(&pool.state, (uint32_t)seats * kSeat);
  atomic_fetch_add(&pool.opened, 1);
  if (atomic_load(&pool.sleepers) > 0)
    wake(&pool.opened, seats);
}

static void close_loop(void) {
  atomic_fetch_and(&pool.state, kRunning);
  if (spin_until(all_left, 0))
    return;
  atomic_store(&pool.caller_waits, true);
  for (uint32_t state; (state = atomic_load(&pool.state)) != 0;)
    sleep_while(&pool.state, state);
  atomic_store(&pool.caller_waits, false);
}

void llmmem_parallel_for(int64_t count, llmmem_iterations run, void *context) {
  int threads = llmmem_threads();
  if (count < 2 || threads < 2 || inside_loop || atomic_flag_test_and_set(&pool.in_use)) {
    run(context, 0, count);
    return;
  }
  pthread_once(&cores_once, count_cores);
  start_workers(threads - 1);
  inside_loop = true;
  open_loop(count, run, context, threads);
  begin_on_core();
  take_iterations(&pool.loop);
  close_loop();
  inside_loop = false;
  atomic_flag_clear(&pool.in_use);
}
