/*===- ReadFile.c - Whole files that come to an end -------------------------===*/

#define _POSIX_C_SOURCE 200809L /* O_CLOEXEC */
#include "Bundle/ReadFile.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The limits are those of llmmem-run. */
enum { MOST_OF_PIPE = 1 << 30, WRITER_SECONDS = 2 };

typedef struct {
  int file;
  size_t most, count, room;
  char *text;
  const char *why; /* what went wrong */
} Reader;

static int wait_for(int file, int milliseconds) {
  struct pollfd state = {file, POLLIN, 0};
  return poll(&state, 1, milliseconds);
}

static int grow(Reader *reader) {
  size_t room = reader->room ? 2 * reader->room : 1 << 16;
  char *larger = realloc(reader->text, room + 1);
  if (!larger) {
    reader->why = "not enough memory";
    return 1;
  }
  reader->text = larger;
  reader->room = room;
  return 0;
}

/* Until a program has opened the other end of a FIFO, a read finds the end of the file. */
static int read_all(Reader *reader, int awaits_writer) {
  for (;;) {
    if (reader->count == reader->room && grow(reader))
      return 1;
    ssize_t got = read(reader->file, reader->text + reader->count, reader->room - reader->count);
    if (got == 0 && awaits_writer) {
      reader->why = "it is a pipe that no program has opened for writing within 2 seconds; start "
                    "that program first, or name a file";
      return 1;
    }
    if (got == 0)
      return 0;
    if (got < 0 && errno != EAGAIN && errno != EINTR) {
      reader->why = strerror(errno);
      return 1;
    }
    awaits_writer = 0;
    if (got < 0) {
      wait_for(reader->file, -1);
      continue;
    }
    reader->count += (size_t)got;
    if (reader->count > reader->most) {
      reader->why = "it goes on after 1 GiB; is it the right one?";
      return 1;
    }
  }
}

static int read_open(Reader *reader) {
  struct stat status;
  if (fstat(reader->file, &status) != 0) {
    reader->why = strerror(errno);
    return 1;
  }
  if (S_ISDIR(status.st_mode)) {
    reader->why = strerror(EISDIR);
    return 1;
  }
  int is_file = S_ISREG(status.st_mode), is_pipe = S_ISFIFO(status.st_mode);
  if (!is_file && !is_pipe && !isatty(reader->file)) {
    reader->why = "it is a device; name a file";
    return 1;
  }
  reader->most = is_file ? (size_t)-1 : MOST_OF_PIPE;
  /* One byte more shows the end without a larger buffer. */
  reader->room = is_file && status.st_size > 0 ? (size_t)status.st_size + 1 : 1 << 16;
  reader->text = malloc(reader->room + 1);
  if (!reader->text) {
    reader->why = "not enough memory";
    return 1;
  }
  return read_all(reader, is_pipe && wait_for(reader->file, WRITER_SECONDS * 1000) == 0);
}

char *read_file(const char *path, size_t *bytes, char *message, size_t size) {
  Reader reader = {.file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)};
  int failed = reader.file < 0;
  if (failed)
    reader.why = strerror(errno);
  else
    failed = read_open(&reader);
  if (failed) {
    snprintf(message, size, "'%s' cannot be read: %s", path, reader.why);
    free(reader.text);
    reader.text = NULL;
  } else {
    reader.text[reader.count] = '\0';
    *bytes = reader.count;
  }
  if (reader.file >= 0)
    close(reader.file);
  return reader.text;
}
