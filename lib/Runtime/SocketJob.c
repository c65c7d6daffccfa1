/*===- SocketJob.c - What a launcher says about a job without MPI ------------===*/

#include "SocketJob.h"
#include "JobToken.h"
#include "JoinWatch.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *text_of(const char *variable) {
  const char *text = getenv(variable);
  return text && *text ? text : NULL;
}

const char *llmmem_tasks_of_srun(void) {
  return text_of("SLURM_STEP_NUM_TASKS") ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS";
}

/* Reads all of `text` as a number from `least` to `most`. Returns 1 where it is none. */
static int read_number(const char *text, long least, long most, int32_t *number) {
  char *end = NULL;
  errno = 0;
  long value = strtol(text, &end, 10);
  if (errno || end == text || *end || value < least || value > most)
    return 1;
  *number = (int32_t)value;
  return 0;
}

/* Returns 1 with a message where the variable is set to anything else. */
static int read_variable(const char *variable, long least, long most, int32_t *number,
                         char *message, size_t size) {
  const char *text = text_of(variable);
  if (!text)
    snprintf(message, size, "the launcher has not set %s", variable);
  else if (read_number(text, least, most, number))
    snprintf(message, size, "%s is '%s'; expected a number from %ld to %ld", variable, text, least,
             most);
  else
    return 0;
  return 1;
}

/* Writes the first host of "node[07-09,12],other": node07. */
static void first_host(const char *list, char *host, size_t size) {
  size_t used = 0;
  for (bool in_range = false; *list && *list != ',' && used + 1 < size; ++list) {
    if (in_range && (*list == '-' || *list == ']'))
      break;
    if (*list == '[')
      in_range = true;
    else
      host[used++] = *list;
  }
  host[used] = '\0';
}

/* Returns a port that two steps of one machine rarely share. */
static int port_of_step(void) {
  const char *job = text_of("SLURM_JOB_ID"), *step = text_of("SLURM_STEP_ID");
  unsigned long number =
      (job ? strtoul(job, NULL, 10) : 0) * 97 + (step ? strtoul(step, NULL, 10) : 0);
  return 20000 + (int)(number % 30000);
}

static int read_port(SocketJob *job, char *message, size_t size) {
  const char *agent = text_of("TORCHELASTIC_USE_AGENT_STORE");
  /* In this case torchrun's agent itself listens at MASTER_PORT. */
  int shares_port_with_agent = agent && strcmp(agent, "True") == 0;
  if (text_of("LLMMEM_PORT"))
    return read_variable("LLMMEM_PORT", 1, 65535, &job->port, message, size);
  if (text_of("MASTER_PORT")) {
    if (read_variable("MASTER_PORT", 1, 65535 - shares_port_with_agent, &job->port, message, size))
      return 1;
    job->port += shares_port_with_agent;
  } else if (text_of("SLURM_PROCID")) {
    job->port = port_of_step();
  }
  return 0;
}

static int read_address(SocketJob *job, char *message, size_t size) {
  const char *address = text_of("MASTER_ADDR"), *nodes = text_of("SLURM_STEP_NODELIST"),
             *listen = text_of("LLMMEM_LISTEN_ADDRESS");
  if (address)
    snprintf(job->host, sizeof job->host, "%s", address);
  else if (nodes)
    first_host(nodes, job->host, sizeof job->host);
  snprintf(job->listen, sizeof job->listen, "%s", listen ? listen : "");
  if (read_port(job, message, size))
    return 1;
  if (job->host[0] && job->port)
    return 0;
  snprintf(message, size,
           "found no address of rank 0; expected MASTER_ADDR and MASTER_PORT (or LLMMEM_PORT)");
  return 1;
}

int llmmem_read_socket_job(SocketJob *job, char *message, size_t size) {
  bool is_torchrun = text_of("WORLD_SIZE") != NULL;
  const char *rank = is_torchrun ? "RANK" : "SLURM_PROCID",
             *ranks = is_torchrun ? "WORLD_SIZE" : llmmem_tasks_of_srun();
  memset(job, 0, sizeof *job);
  job->seconds = (double)llmmem_join_seconds();
  if (read_variable(rank, 0, INT_MAX, &job->rank, message, size) ||
      read_variable(ranks, 1, MOST_SOCKET_RANKS, &job->ranks, message, size))
    return 1;
  if (job->rank >= job->ranks) {
    snprintf(message, size, "%s is %d and %s %d; expected a rank below the number of ranks", rank,
             job->rank, ranks, job->ranks);
    return 1;
  }
  return read_address(job, message, size) || llmmem_read_job_token(job->token, message, size);
}
