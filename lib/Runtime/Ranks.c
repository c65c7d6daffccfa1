/*===- Ranks.c - Joining a job, and its groups -----------------------------===*/

#define _GNU_SOURCE /* readlink, RTLD_NODELETE */
#include "Ranks.h"
#include "DeviceRanks.h"
#include "JoinWatch.h"
#include "SocketJob.h"
#include "Sockets.h"
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct Job {
  llmmem_transport *transport;
  CallQueue *communication; /* Null before the first start. */
  DeviceRanks *device;      /* Null where collectives are the transport's. */
  bool owns_transport, is_complete;
  int64_t axes, sizes[LLMMEM_MOST_AXES], position[LLMMEM_MOST_AXES];
  llmmem_group *groups[1 << LLMMEM_MOST_AXES]; /* Indexed by the bits of the axes. */
};

/* It belongs to the thread, so that one process can be several ranks (in tests). */
static _Thread_local Job *job;

Job *llmmem_current_job(void) { return job; }

void llmmem_enter_job(Job *entered) { job = entered; }

DeviceRanks **llmmem_device_ranks(void) { return job ? &job->device : NULL; }

DeviceRanks *llmmem_device_of_job(void) { return job ? job->device : NULL; }

CallQueue **llmmem_communication(void) {
  return job && job->transport->serialized ? &job->communication : NULL;
}

/*===----------------------------------------------------------------------===*/
/* Groups                                                                     */
/*===----------------------------------------------------------------------===*/

/* Returns the rank's number among those that differ from it only on the axes of `bits`, or,
 * inverted, the number of that set. */
static int32_t number_on_axes(const Job *of, int64_t bits) {
  int64_t number = 0;
  for (int64_t axis = 0; axis < of->axes; ++axis)
    if (bits >> axis & 1)
      number = number * of->sizes[axis] + of->position[axis];
  return (int32_t)number;
}

static int32_t size_on_axes(const Job *of, int64_t bits) {
  int64_t size = 1;
  for (int64_t axis = 0; axis < of->axes; ++axis)
    if (bits >> axis & 1)
      size *= of->sizes[axis];
  return (int32_t)size;
}

GroupOfAxes llmmem_group_of_axes(int64_t axes) {
  GroupOfAxes group = {job && axes < (1 << job->axes), 1, 0, 0};
  if (!group.exists)
    return group;
  group.size = size_on_axes(job, axes);
  group.position = number_on_axes(job, axes);
  group.color = number_on_axes(job, ((1 << job->axes) - 1) & ~axes);
  return group;
}

static int open_groups(Job *of) {
  int64_t all = (1 << of->axes) - 1;
  for (int64_t bits = 1; bits <= all; ++bits)
    if (size_on_axes(of, bits) > 1 &&
        of->transport->open_group(of->transport->state, number_on_axes(of, all & ~bits),
                                  number_on_axes(of, bits), &of->groups[bits]))
      return 1;
  return 0;
}

static Members find_members(int64_t axes) {
  Members alone = {NULL, NULL, 1, 0};
  if (!job || size_on_axes(job, axes) == 1)
    return alone;
  axes &= (1 << job->axes) - 1;
  return (Members){job->transport, job->groups[axes], size_on_axes(job, axes),
                   number_on_axes(job, axes)};
}

Members llmmem_members(int64_t axes) {
  Members members = find_members(axes);
  if (members.transport)
    llmmem_wait_for_all_started(job->communication);
  return members;
}

int64_t llmmem_group_position(int64_t axes) { return find_members(axes).position; }

void llmmem_broadcast_bytes(void *data, int64_t bytes, int64_t axes, int64_t root) {
  Members members = llmmem_members(axes);
  if (members.transport && members.transport->broadcast(members.transport->state, members.group,
                                                        data, bytes, (int32_t)root))
    llmmem_ranks_fail(&members, "broadcast", bytes);
}

_Noreturn void llmmem_ranks_fail(const Members *members, const char *call, int64_t bytes) {
  llmmem_transport *transport = members->transport;
  fprintf(stderr, "llmmem: rank %d: %s of %lld bytes over %d ranks failed: %s\n", transport->rank,
          call, (long long)bytes, members->size, transport->message);
  transport->abort(transport->state, 1);
  exit(1);
}

/*===----------------------------------------------------------------------===*/
/* Joining                                                                    */
/*===----------------------------------------------------------------------===*/

/* Makes the thread's job. */
static int enter_job(llmmem_transport *transport, int64_t axes, char *message, size_t size) {
  if (axes < 0 || axes > LLMMEM_MOST_AXES) {
    snprintf(message, size, "a mesh of %lld axes; expected at most %d", (long long)axes,
             LLMMEM_MOST_AXES);
    return 1;
  }
  job = calloc(1, sizeof *job);
  if (!job) {
    snprintf(message, size, "out of memory");
    return 1;
  }
  job->transport = transport;
  return 0;
}

/* Places this rank in the mesh, and opens its groups. */
static int take_place(int64_t axes, const int64_t *sizes, char *message, size_t size) {
  llmmem_transport *transport = job->transport;
  int64_t ranks = 1, left = transport->rank;
  for (int64_t axis = 0; axis < axes; ++axis)
    ranks *= sizes[axis];
  if (ranks != transport->ranks) {
    snprintf(message, size,
             "the step's mesh has %lld ranks and this job %d; start it with 'mpirun -n %lld'",
             (long long)ranks, transport->ranks, (long long)ranks);
    return 1;
  }
  job->axes = axes;
  for (int64_t axis = axes - 1; axis >= 0; --axis) {
    job->sizes[axis] = sizes[axis];
    job->position[axis] = left % sizes[axis];
    left /= sizes[axis];
  }
  if (open_groups(job)) {
    snprintf(message, size, "%s", transport->message);
    return 1;
  }
  job->is_complete = true;
  return 0;
}

int llmmem_ranks_join(llmmem_transport *transport, int64_t axes, const int64_t *sizes,
                      char *message, int64_t message_bytes) {
  size_t size = (size_t)message_bytes;
  return enter_job(transport, axes, message, size) || take_place(axes, sizes, message, size);
}

typedef struct {
  int64_t axes, sizes[LLMMEM_MOST_AXES];
} Mesh;

/* "2 x 4" */
static void print_mesh(const Mesh *mesh, char *text, size_t size) {
  size_t used = 0;
  text[0] = '\0';
  for (int64_t axis = 0; axis < mesh->axes && axis < LLMMEM_MOST_AXES && used < size; ++axis)
    used += (size_t)snprintf(text + used, size - used, "%s%lld", axis ? " x " : "",
                             (long long)mesh->sizes[axis]);
}

/* Ranks of different meshes have different groups, and would wait for each other in them. */
static int compare_meshes(int64_t axes, const int64_t *sizes, char *message, size_t size) {
  llmmem_transport *transport = job->transport;
  int32_t ranks = transport->ranks;
  if (ranks == 1)
    return 0;
  Mesh *all = calloc((size_t)ranks, sizeof *all);
  llmmem_group *world = NULL;
  if (!all) {
    snprintf(message, size, "out of memory");
    return 1;
  }
  all[transport->rank].axes = axes;
  memcpy(all[transport->rank].sizes, sizes, (size_t)axes * sizeof *sizes);
  llmmem_pieces pieces = {ranks * (int64_t)sizeof *all, sizeof *all};
  if (transport->open_group(transport->state, 0, transport->rank, &world) ||
      transport->gather(transport->state, world, all, pieces)) {
    snprintf(message, size, "%s", transport->message);
    free(all);
    return 1;
  }
  int32_t rank = 1;
  while (rank < ranks && memcmp(&all[rank], &all[0], sizeof *all) == 0)
    ++rank;
  if (rank < ranks) {
    char first[200], other[200];
    print_mesh(&all[0], first, sizeof first);
    print_mesh(&all[rank], other, sizeof other);
    snprintf(message, size,
             "rank %d has a step for a mesh of %s where rank 0 has one for %s; start all ranks "
             "with the same step",
             rank, other, first);
  }
  free(all);
  return rank < ranks;
}

int64_t llmmem_rank(void) { return job ? job->transport->rank : 0; }

int64_t llmmem_ranks(void) { return job ? job->transport->ranks : 1; }

const char *llmmem_transport_name(void) { return job ? job->transport->name : ""; }

void llmmem_ranks_end(void) {
  if (!job)
    return;
  llmmem_close_communication(job->communication);
  llmmem_ranks_leave_device(0);
  job->transport->close(job->transport->state);
  if (job->owns_transport)
    free(job->transport);
  free(job);
  job = NULL;
}

void llmmem_ranks_fail_together(void) {
  if (job && job->transport->fail_together)
    job->transport->fail_together(job->transport->state);
}

void llmmem_ranks_end_alike(void) {
  llmmem_ranks_fail_together();
  if (job)
    job->is_complete = false;
}

void llmmem_ranks_abort(int code) {
  if (!job || !job->is_complete)
    return;
  /* MPI may not be called from two threads at once, not even to abort it. Where the other thread
   * does not return, the process ends without leaving the job, which makes launchers end the job.
   * */
  if (!llmmem_stop_communication(job->communication))
    _exit(code);
  job->transport->abort(job->transport->state, code);
}

/*===----------------------------------------------------------------------===*/
/* The transport that the launcher speaks                                     */
/*===----------------------------------------------------------------------===*/

/* This name is valid in addition to those of libraries of transports. */
static const char kSockets[] = "sockets";

static bool is_set(const char *variable) {
  const char *value = getenv(variable);
  return value && *value;
}

static bool is_above_one(const char *variable) {
  const char *value = getenv(variable);
  return value && strtol(value, NULL, 10) > 1;
}

static bool is_torchrun(void) {
  return is_set("TORCHELASTIC_RUN_ID") || (is_above_one("WORLD_SIZE") && is_set("MASTER_ADDR"));
}

static bool is_srun(void) {
  return is_above_one(llmmem_tasks_of_srun()) && is_set("SLURM_STEP_ID") && is_set("SLURM_PROCID");
}

/* Returns the transport that the launcher's variables ask for; null for one process, or with a
 * reason. */
static const char *choose_transport(int on_devices, char *message, size_t size) {
  if (is_set("OMPI_COMM_WORLD_SIZE") || is_set("PMIX_RANK"))
    return "openmpi";
  if (is_set("PMI_SIZE") || is_set("PMI_RANK"))
    return "mpich";
  if (on_devices)
    return is_torchrun() || is_srun() ? kSockets : NULL;
  if (is_torchrun())
    snprintf(message, size,
             "torchrun started this process, and its ranks meet over NCCL alone; on CPUs start it "
             "with mpirun");
  else if (is_srun())
    snprintf(message, size,
             "srun started this process without a way for MPI; use 'srun --mpi=pmix' (Open MPI), "
             "'srun --mpi=pmi2' (MPICH) or mpirun");
  return NULL;
}

int64_t llmmem_launched_processes(const char **variable) {
  static const char *const of_mpi[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
  const char *processes = is_torchrun() ? "WORLD_SIZE" : is_srun() ? llmmem_tasks_of_srun() : NULL;
  for (size_t k = 0; k < sizeof of_mpi / sizeof *of_mpi; ++k)
    if (is_above_one(of_mpi[k]))
      processes = of_mpi[k];
  *variable = processes ? processes : "";
  return processes && is_above_one(processes) ? strtol(getenv(processes), NULL, 10) : 1;
}

/* Writes the path of lib/llmmem next to the folder of this program. */
static void default_folder(char *folder, size_t size) {
  static const char relative[] = "/../lib/llmmem";
  ssize_t length = readlink("/proc/self/exe", folder, size - sizeof relative);
  folder[length < 0 ? 0 : length] = '\0';
  char *slash = strrchr(folder, '/');
  if (slash)
    strcpy(slash, relative);
}

static int open_library(const char *name, llmmem_transport *transport, char *message, size_t size) {
  char folder[4096], file[4200];
  if (is_set("LLMMEM_TRANSPORTS"))
    snprintf(folder, sizeof folder, "%s", getenv("LLMMEM_TRANSPORTS"));
  else
    default_folder(folder, sizeof folder);
  snprintf(file, sizeof file, "%s/transport-%s.so", folder, name);
  /* It is global, because Open MPI's own plug-ins look up its symbols, and never unloaded. */
  void *library = dlopen(file, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
  int (*open)(llmmem_transport *) = NULL;
  if (library)
    *(void **)&open = dlsym(library, "llmmem_open_transport");
  if (!open) {
    snprintf(message, size,
             "the launcher is that of %s, and llmmem has no transport for it (%s); build llmmem "
             "where its headers are (Debian: lib%s-dev), or use another mpirun",
             name, dlerror(), name);
    return 1;
  }
  JoinWatch *watch = llmmem_start_join_watch(llmmem_join_seconds());
  int failed = open(transport);
  llmmem_stop_join_watch(watch);
  if (failed) {
    snprintf(message, size, "%s", transport->message);
    return 1;
  }
  if (transport->version != LLMMEM_TRANSPORT_VERSION) {
    snprintf(message, size, "'%s' is of version %d, expected %d: build it with this llmmem", file,
             transport->version, LLMMEM_TRANSPORT_VERSION);
    return 1;
  }
  return 0;
}

int64_t llmmem_local_rank(void) {
  static const char *const variables[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                                          "LOCAL_RANK", "SLURM_LOCALID"};
  for (size_t k = 0; k < sizeof variables / sizeof *variables; ++k)
    if (is_set(variables[k]))
      return strtol(getenv(variables[k]), NULL, 10);
  return 0;
}

static void abort_alone(void *state, int32_t code) {
  (void)state;
  _exit(code);
}

static void close_alone(void *state) { (void)state; }

/* Opens a job of one rank, which has collectives on its device. */
static int open_alone(llmmem_transport *transport) {
  *transport = (llmmem_transport){.version = LLMMEM_TRANSPORT_VERSION,
                                  .ranks = 1,
                                  .name = "one process",
                                  .abort = abort_alone,
                                  .close = close_alone};
  return 0;
}

static int check_alone(int64_t axes, const int64_t *sizes, char *message, size_t size) {
  int64_t ranks = 1;
  for (int64_t axis = 0; axis < axes; ++axis)
    ranks *= sizes[axis];
  if (ranks > 1)
    snprintf(message, size,
             "the step's mesh has %lld ranks and this is one process; start it with 'mpirun -n "
             "%lld'",
             (long long)ranks, (long long)ranks);
  return ranks > 1;
}

int llmmem_ranks_begin(int64_t axes, const int64_t *sizes, int uses, char *message,
                       int64_t message_bytes) {
  size_t size = (size_t)message_bytes;
  int on_devices = uses & LLMMEM_RANKS_ON_DEVICES;
  message[0] = '\0';
  const char *name = choose_transport(on_devices, message, size);
  if (!name && message[0])
    return 1;
  if (!name && (check_alone(axes, sizes, message, size) || !on_devices))
    return message[0] != '\0';
  llmmem_transport *transport = calloc(1, sizeof *transport);
  if (!transport) {
    snprintf(message, size, "out of memory");
    return 1;
  }
  /* On devices the host communicates from one thread. */
  transport->serialized = (uses & LLMMEM_RANKS_START) && !on_devices;
  int failed = !name              ? open_alone(transport)
               : name == kSockets ? llmmem_open_sockets(transport, message, size)
                                  : open_library(name, transport, message, size);
  if (failed) {
    free(transport);
    return 1;
  }
  failed = enter_job(transport, axes, message, size);
  if (!job) {
    free(transport);
    return 1;
  }
  job->owns_transport = true;
  return failed || compare_meshes(axes, sizes, message, size) ||
         take_place(axes, sizes, message, size);
}
