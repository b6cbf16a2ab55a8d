// A library for LD_PRELOAD that lets calls of the C library fail, or kills the process in them.
//
//   RGX_FAULT="KIND NUMBER FOLDER", RGX_FAULT_LOG=FILE
//
// Calls that concern files below FOLDER are numbered, in all threads. The log gets their names.
//
//   count     nothing fails
//   kill      the process dies in call NUMBER: half of a write is done, every second other call is
//   full      from call NUMBER on, nothing can be created or written, as on a full disk
//   error     call NUMBER fails with EIO, reading too
//   clock     the clock of the system goes back by an hour at every NUMBER-th look at it
//
// A process that this one starts is spared, but for `clock`.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { NONE, COUNT, KILL, FULL, ERROR, CLOCK };
static int kind, log_file = -1;
static long number;
static char folder[4096];
static atomic_long calls, looks;

__attribute__((constructor)) static void begin(void) {
  const char *text = getenv("RGX_FAULT"), *log = getenv("RGX_FAULT_LOG");
  char name[16] = "";
  if (text == NULL || sscanf(text, "%15s %ld %4095s", name, &number, folder) < 2) return;
  const char *names[] = {"", "count", "kill", "full", "error", "clock"};
  for (int i = 1; i < 6; i++) {
    if (strcmp(name, names[i]) == 0) kind = i;
  }
  if (kind == CLOCK) return;
  const int flags = O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC;
  if (log != NULL) log_file = (int)syscall(SYS_openat, AT_FDCWD, log, flags, 0600);
  unsetenv("LD_PRELOAD");
  unsetenv("RGX_FAULT");
}

static int is_below(const char *path) {
  if (path == NULL || kind == NONE || kind == CLOCK) return 0;
  return strncmp(path, folder, strlen(folder)) == 0;
}

// The path of a descriptor, when it is below the folder.
static const char *path_of(int descriptor, char *into) {
  char link[32];
  if (kind == NONE || kind == CLOCK || descriptor < 3) return NULL;
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(link, into, 4095);
  if (length < 0) return NULL;
  into[length] = 0;
  return is_below(into) ? into : NULL;
}

enum { READS = 1, FILLS = 2 };

// Numbers a call. Returns what it has to do: 0 = nothing else, -1 = fail, 1 = die in it.
static int turn(const char *call, const char *path, int what) {
  if (what == READS && kind != ERROR && kind != COUNT) return 0;
  long n = atomic_fetch_add(&calls, 1) + 1;
  if (log_file >= 0) {
    char line[4200];
    int length = snprintf(line, sizeof line, "%ld %s %s\n", n, call, path + strlen(folder));
    syscall(SYS_write, log_file, line, length);
  }
  if (kind == KILL && n == number) {
    if (n % 2 == 0) kill(getpid(), SIGKILL);
    return 1;
  }
  if (kind == ERROR && n == number) return errno = EIO, -1;
  if (kind == FULL && n >= number && what == FILLS) return errno = ENOSPC, -1;
  return 0;
}

static int dead(int result) {
  kill(getpid(), SIGKILL);
  return result;
}

#define REAL(name) ((typeof(&name))dlsym(RTLD_NEXT, #name))
// A call with the paths or names of its arguments.
#define WRAP(name, types, args, path, what)                       \
  int name types {                                                \
    int todo = is_below(path) ? turn(#name, path, what) : 0;      \
    if (todo < 0) return -1;                                      \
    int result = REAL(name) args;                                 \
    return todo > 0 ? dead(result) : result;                      \
  }

WRAP(rename, (const char *a, const char *b), (a, b), b, 0)
WRAP(renameat, (int x, const char *a, int y, const char *b), (x, a, y, b), b, 0)
WRAP(link, (const char *a, const char *b), (a, b), b, FILLS)
WRAP(linkat, (int x, const char *a, int y, const char *b, int f), (x, a, y, b, f), b, FILLS)
WRAP(symlink, (const char *a, const char *b), (a, b), b, FILLS)
WRAP(mkdir, (const char *a, mode_t m), (a, m), a, FILLS)
WRAP(unlink, (const char *a), (a), a, 0)
WRAP(unlinkat, (int x, const char *a, int f), (x, a, f), a, 0)
WRAP(rmdir, (const char *a), (a), a, 0)

#define OPEN(name)                                                                \
  int name(const char *path, int flags, ...) {                                    \
    va_list list;                                                                 \
    va_start(list, flags);                                                        \
    mode_t mode = (flags & O_CREAT) != 0 ? va_arg(list, mode_t) : 0;              \
    va_end(list);                                                                 \
    int fills = flags & O_CREAT ? FILLS : flags & O_ACCMODE ? 0 : READS;          \
    int todo = is_below(path) ? turn("open", path, fills) : 0;                    \
    if (todo < 0) return -1;                                                      \
    int result = REAL(name)(path, flags, mode);                                   \
    return todo > 0 ? dead(result) : result;                                      \
  }
OPEN(open)
OPEN(open64)

// A call on a descriptor; `half` does a part of it first.
#define ON_FILE(name, type, types, args, what, half)              \
  type name types {                                               \
    char path[4096];                                              \
    const char *below = path_of(f, path);                         \
    int todo = below != NULL ? turn(#name, below, what) : 0;      \
    if (todo != 0) half;                                          \
    if (todo < 0) return errno = kind == FULL ? ENOSPC : EIO, -1; \
    if (todo > 0) dead(0);                                        \
    return REAL(name) args;                                       \
  }

#define HALF (void)!syscall(SYS_write, f, p, n / 2)
ON_FILE(write, ssize_t, (int f, const void *p, size_t n), (f, p, n), FILLS, HALF)
ON_FILE(writev, ssize_t, (int f, const struct iovec *p, int n), (f, p, n), FILLS, )
ON_FILE(pwrite64, ssize_t, (int f, const void *p, size_t n, off64_t o), (f, p, n, o), FILLS, )
ON_FILE(read, ssize_t, (int f, void *p, size_t n), (f, p, n), READS, )
ON_FILE(pread64, ssize_t, (int f, void *p, size_t n, off64_t o), (f, p, n, o), READS, )
ON_FILE(fsync, int, (int f), (f), 0, )
ON_FILE(fdatasync, int, (int f), (f), 0, )
ON_FILE(ftruncate64, int, (int f, off64_t n), (f, n), FILLS, )

int clock_gettime(clockid_t clock, struct timespec *now) {
  int result = REAL(clock_gettime)(clock, now);
  if (kind == CLOCK && clock == CLOCK_REALTIME) {
    now->tv_sec -= 3600 * (atomic_fetch_add(&looks, 1) / number);
  }
  return result;
}
