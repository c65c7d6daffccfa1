/*===- JobToken.c - What the ranks of a job know, and no stranger does ------===*/

#define _GNU_SOURCE /* O_NOFOLLOW, getrandom */
#include "JobToken.h"
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SECRET_DIGITS = 64, LEAST_SECRET = 16, MOST_PATH = 4096 };

static const char *text_of(const char *variable) {
  const char *text = getenv(variable);
  return text && *text ? text : NULL;
}

/*===----------------------------------------------------------------------===*/
/* The user's file                                                            */
/*===----------------------------------------------------------------------===*/

/* Makes `path`'s folders for their owner alone, and does not change existing ones. */
static int make_folders(char *path) {
  for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    int code = mkdir(path, 0700) != 0 && errno != EEXIST;
    *slash = '/';
    if (code)
      return 1;
  }
  return 0;
}

static int find_path(char *path, size_t size) {
  const char *state = text_of("XDG_STATE_HOME"), *home = text_of("HOME");
  const struct passwd *user = state || home ? NULL : getpwuid(geteuid());
  home = user ? user->pw_dir : home;
  if (!state && !home)
    return 1;
  int length = state ? snprintf(path, size, "%s/llmmem/job-token", state)
                     : snprintf(path, size, "%s/.local/state/llmmem/job-token", home);
  return length < 0 || (size_t)length >= size;
}

/* One of the ranks makes the file, and the others find it. */
static int make_secret(const char *path) {
  uint8_t random[SECRET_DIGITS / 2];
  char digits[SECRET_DIGITS + 1];
  if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
    return 1;
  for (size_t k = 0; k < sizeof random; ++k)
    snprintf(digits + 2 * k, 3, "%02x", random[k]);
  int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0)
    return errno != EEXIST;
  int failed = write(file, digits, SECRET_DIGITS) != SECRET_DIGITS;
  return close(file) != 0 || failed;
}

/* Says why somebody else may have read or written the file, as ssh checks its keys; null if nobody
 * can have. */
static const char *doubt_of(int file) {
  struct stat facts;
  if (fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode))
    return "is no file";
  if (facts.st_uid != geteuid())
    return "belongs to another user";
  return facts.st_mode & 077 ? "can be read or written by others; 'chmod 600' it" : NULL;
}

/* Reads a file that another rank may be making right now. */
static const char *read_digits(const char *path, char digits[SECRET_DIGITS]) {
  for (int patience = 50; patience > 0; --patience) {
    int file = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0)
      return strerror(errno);
    const char *doubt = doubt_of(file);
    ssize_t count = doubt ? 0 : read(file, digits, SECRET_DIGITS);
    close(file);
    if (doubt || count == SECRET_DIGITS)
      return doubt;
    usleep(20000);
  }
  return "has fewer than 64 digits; delete it";
}

static int read_users_secret(char digits[SECRET_DIGITS], char *message, size_t size) {
  char path[MOST_PATH];
  const char *why = NULL;
  if (find_path(path, sizeof path)) {
    snprintf(path, sizeof path, "job-token");
    why = "this user has no home folder for it";
  } else if (make_folders(path) || make_secret(path)) {
    why = strerror(errno);
  } else {
    why = read_digits(path, digits);
  }
  if (why)
    snprintf(message, size,
             "the job's token '%s' cannot be used: %s; or give all ranks the same "
             "LLMMEM_JOB_TOKEN (16 characters or more, as 'openssl rand -hex 32' prints)",
             path, why);
  return why != NULL;
}

/*===----------------------------------------------------------------------===*/
/* The token                                                                  */
/*===----------------------------------------------------------------------===*/

int llmmem_read_job_token(uint8_t token[SHA256_BYTES], char *message, size_t size) {
  static const char *const names[] = {"TORCHELASTIC_RUN_ID", "SLURM_JOB_ID", "SLURM_STEP_ID"};
  enum { NAMES = sizeof names / sizeof *names };
  char digits[SECRET_DIGITS];
  const char *secret = text_of("LLMMEM_JOB_TOKEN");
  size_t length = secret ? strlen(secret) : SECRET_DIGITS;
  if (length < LEAST_SECRET) {
    snprintf(message, size,
             "LLMMEM_JOB_TOKEN has %zu characters; expected 16 or more, which nobody can guess, as "
             "'openssl rand -hex 32' prints",
             length);
    return 1;
  }
  if (!secret && read_users_secret(digits, message, size))
    return 1;
  HmacPiece pieces[2 * NAMES];
  for (size_t k = 0; k < NAMES; ++k) {
    const char *name = text_of(names[k]);
    pieces[2 * k] = (HmacPiece){names[k], strlen(names[k]) + 1};
    pieces[2 * k + 1] = (HmacPiece){name ? name : "", name ? strlen(name) + 1 : 1};
  }
  hmac_sha256(secret ? secret : digits, length, pieces, 2 * NAMES, token);
  return 0;
}
