/*===- Report.c - What a run says -------------------------------------------===*/

#include "Runner/Report.h"
#include "llmmem/Runtime/WholeFile.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void print_text(FILE *file, const char *text) {
  fputc('"', file);
  for (; *text; ++text) {
    if (*text == '"' || *text == '\\')
      fputc('\\', file);
    fputc((unsigned char)*text < ' ' ? ' ' : *text, file);
  }
  fputc('"', file);
}

double predicted_ns(const Bundle *bundle) {
  double step = json_number(json_find(bundle->predicted, "step"), "time_ns", -1),
         again = json_number(json_find(bundle->predicted, "recompute"), "time_ns", 0);
  return step < 0 ? -1 : step + again;
}

/*===----------------------------------------------------------------------===*\
|* Profiles
\*===----------------------------------------------------------------------===*/

int profile_add(Profile *profile, const int64_t *ns) {
  size_t calls = profile->program->timed_count;
  if (profile->steps == profile->room) {
    size_t room = profile->room ? 2 * profile->room : 8;
    int64_t *larger = realloc(profile->ns, room * (calls + 1) * sizeof *larger);
    if (!larger)
      return 1;
    profile->ns = larger;
    profile->room = room;
  }
  memcpy(profile->ns + profile->steps++ * calls, ns, calls * sizeof *ns);
  return 0;
}

void profile_close(Profile *profile) {
  free(profile->ns);
  profile->ns = NULL;
}

static int compare(const void *a, const void *b) {
  int64_t first = *(const int64_t *)a, second = *(const int64_t *)b;
  return (first > second) - (first < second);
}

static size_t counted(const Profile *profile) {
  return profile->steps > 1 ? profile->steps - 1 : profile->steps;
}

int64_t profile_median(const Profile *profile, size_t call) {
  size_t first = profile->steps > 1, count = counted(profile),
         calls = profile->program->timed_count;
  int64_t *sorted = malloc((count + 1) * sizeof *sorted);
  if (!sorted || count == 0) {
    free(sorted);
    return 0;
  }
  for (size_t k = 0; k < count; ++k)
    sorted[k] = profile->ns[(first + k) * calls + call];
  qsort(sorted, count, sizeof *sorted, compare);
  int64_t middle = count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
  free(sorted);
  return middle;
}

typedef struct {
  const char *phase, *kind;
  int64_t calls, ns, flops;
} Row;

static const char *phase_of(const Timed *timed) {
  return timed->recomputed ? "recompute" : *timed->phase ? timed->phase : "other";
}

static Row *row_of(Row *rows, size_t *count, const char *phase, const char *kind) {
  for (size_t k = 0; k < *count; ++k)
    if (strcmp(rows[k].phase, phase) == 0 && strcmp(rows[k].kind, kind) == 0)
      return &rows[k];
  rows[*count] = (Row){phase, kind, 0, 0, 0};
  return &rows[(*count)++];
}

static int by_time(const void *a, const void *b) {
  int64_t first = ((const Row *)a)->ns, second = ((const Row *)b)->ns;
  return (first < second) - (first > second);
}

static void print_row(FILE *file, const Row *row, int64_t all) {
  fprintf(file, "%-10s%-32s%7lld %10.3f %7.2f %%", row->phase, row->kind, (long long)row->calls,
          1e-6 * (double)row->ns, all ? 100.0 * (double)row->ns / (double)all : 0.0);
  if (row->flops > 0 && row->ns > 0)
    fprintf(file, " %9.2f", (double)row->flops / (double)row->ns);
  fputc('\n', file);
}

static void add_call(Row *row, int64_t ns, int64_t flops) {
  ++row->calls;
  row->ns += ns;
  row->flops += flops;
}

void profile_print(const Profile *profile, FILE *file) {
  static const char *const phases[] = {"forward", "recompute", "backward", "update", "other"};
  size_t calls = profile->program->timed_count, count = 0;
  Row *rows = calloc(calls + 1, sizeof *rows), all = {"all", "", 0, 0, 0};
  if (!rows)
    return;
  for (size_t k = 0; k < calls; ++k) {
    const Timed *timed = &profile->program->timed[k];
    int64_t ns = profile_median(profile, k);
    add_call(row_of(rows, &count, phase_of(timed), timed->kind), ns, timed->flops);
    add_call(&all, ns, timed->flops);
  }
  qsort(rows, count, sizeof *rows, by_time);
  fprintf(file, "profile of %zu step%s%s\n", counted(profile), counted(profile) == 1 ? "" : "s",
          profile->steps > 1 ? ", without the first" : "");
  fprintf(file,
          "phase     kernel                            calls    ms/step    share   GFLOP/s\n");
  for (size_t p = 0; p < sizeof phases / sizeof *phases; ++p)
    for (size_t k = 0; k < count; ++k)
      if (strcmp(rows[k].phase, phases[p]) == 0)
        print_row(file, &rows[k], all.ns);
  for (size_t p = 0; p < sizeof phases / sizeof *phases; ++p) {
    Row sum = {phases[p], "(all)", 0, 0, 0};
    for (size_t k = 0; k < count; ++k)
      if (strcmp(rows[k].phase, phases[p]) == 0) {
        sum.calls += rows[k].calls;
        sum.ns += rows[k].ns;
        sum.flops += rows[k].flops;
      }
    if (sum.calls > 0)
      print_row(file, &sum, all.ns);
  }
  print_row(file, &all, all.ns);
  free(rows);
}

static void write_call(FILE *file, const Profile *profile, size_t call) {
  const Timed *timed = &profile->program->timed[call];
  const struct {
    const char *key, *text;
  } texts[] = {
      {"kind", timed->kind}, {"key", timed->key}, {"name", timed->name}, {"phase", timed->phase}};
  fputs(call ? ",\n  {" : "\n  {", file);
  for (size_t k = 0; k < sizeof texts / sizeof *texts; ++k) {
    fprintf(file, "\"%s\": ", texts[k].key);
    print_text(file, texts[k].text);
    fputs(", ", file);
  }
  if (timed->block < 0)
    fputs("\"block\": null, ", file);
  else
    fprintf(file, "\"block\": %lld, ", (long long)timed->block);
  fprintf(file, "\"flops\": %lld, \"bytes\": %lld, \"recomputed\": %s, \"ns\": %lld}",
          (long long)timed->flops, (long long)timed->bytes, timed->recomputed ? "true" : "false",
          (long long)profile_median(profile, call));
}

int profile_write(const Profile *profile, const char *path) {
  llmmem_whole_file whole;
  if ((errno = llmmem_whole_file_open(&whole, path)))
    return 1;
  FILE *file = whole.file;
  fprintf(file, "{\"format\": \"llmmem-profile\", \"version\": 1, \"steps\": %zu, \"calls\": [",
          counted(profile));
  for (size_t k = 0; k < profile->program->timed_count; ++k)
    write_call(file, profile, k);
  fputs("\n]}\n", file);
  errno = llmmem_whole_file_keep(&whole);
  return errno != 0;
}
