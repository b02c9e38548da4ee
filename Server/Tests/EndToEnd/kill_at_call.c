// This source file is part of the Optimist open source project, under the MIT licence.
//
// Kills the process that is started with this library in LD_PRELOAD before its n-th call that affects a file, a lock or
// a connection. The calls of all threads are counted together, from the first that opens a named directory.
//
// KILL_FROM   the directory: counting begins when it is opened
// KILL_AT     the number of the call, from 1; 0 never kills
// KILL_COUNT  the number of calls is written to this file when the process ends

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

static const char *from;
static long at;
static atomic_int counts;
static atomic_long count;

__attribute__((constructor)) static void start(void) {
    from = getenv("KILL_FROM");
    at = getenv("KILL_AT") ? atol(getenv("KILL_AT")) : 0;
}

__attribute__((destructor)) static void end(void) {
    const char *path = getenv("KILL_COUNT");
    FILE *stream = path ? fopen(path, "w") : NULL;
    if (stream) fprintf(stream, "%ld", (long)count);
}

static void step(void) {
    if (counts && atomic_fetch_add(&count, 1) + 1 == at) kill(getpid(), SIGKILL);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static mode_t mode_of(int flags, va_list rest) { return flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0; }

int open(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = mode_of(flags, rest);
    va_end(rest);
    if (from && !strcmp(path, from)) counts = 1;
    step();
    return REAL(open)(path, flags, mode);
}

int openat(int directory, const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = mode_of(flags, rest);
    va_end(rest);
    step();
    return REAL(openat)(directory, path, flags, mode);
}

#define STEP(result, name, parameters, arguments) \
    result name parameters { step(); return REAL(name) arguments; }

STEP(int, close, (int file), (file))
STEP(int, flock, (int file, int operation), (file, operation))
STEP(int, fsync, (int file), (file))
STEP(ssize_t, read, (int file, void *bytes, size_t length), (file, bytes, length))
STEP(ssize_t, write, (int file, const void *bytes, size_t length), (file, bytes, length))
STEP(ssize_t, writev, (int file, const struct iovec *pieces, int n), (file, pieces, n))
STEP(ssize_t, recv, (int file, void *bytes, size_t length, int flags), (file, bytes, length, flags))
STEP(ssize_t, send, (int file, const void *bytes, size_t length, int flags), (file, bytes, length, flags))
STEP(int, renameat, (int a, const char *old, int b, const char *new), (a, old, b, new))
STEP(int, unlinkat, (int directory, const char *path, int flags), (directory, path, flags))
STEP(int, connect, (int file, const struct sockaddr *address, socklen_t length), (file, address, length))
