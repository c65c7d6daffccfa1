/*===- Report.h - What a run says -------------------------------------------===*/

#ifndef LLMMEM_TOOLS_LLMMEM_REPLAY_REPORT_H
#define LLMMEM_TOOLS_LLMMEM_REPLAY_REPORT_H

#include "Bundle/Bundle.h"
#include <stdio.h>

/* Times of each call of the program, of several steps; the first is left out once there is another.
 */
typedef struct {
  const Program *program;
  int64_t *ns; /* of each step, of each call */
  size_t steps, room;
} Profile;

/* Adds a step's times, one for each timed call. Returns 1 if there is no memory. */
int profile_add(Profile *profile, const int64_t *ns);
void profile_close(Profile *profile);
/* Returns the median of a call. */
int64_t profile_median(const Profile *profile, size_t call);
/* Prints a table by phase and kind, as llmmem-run --profile prints. */
void profile_print(const Profile *profile, FILE *file);
/* Writes what llmmem-run --profile-json writes. Returns 1, with errno, if that fails. */
int profile_write(const Profile *profile, const char *path);

/* Writes a text as JSON: in quotes, with escapes. */
void print_text(FILE *file, const char *text);

/* Returns the time of a step in ns as the plan predicts it, recomputation included, or -1. */
double predicted_ns(const Bundle *bundle);

#endif /* LLMMEM_TOOLS_LLMMEM_REPLAY_REPORT_H */
