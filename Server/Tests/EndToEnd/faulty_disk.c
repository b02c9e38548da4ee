// This source file is part of the Optimist open source project, under the MIT licence.
//
// A disk that fails on demand, for a process that is started with this library in LD_PRELOAD. It intercepts the C
// library's calls that change files, and counts them over all threads. (strace can inject faults, but it counts per
// thread, and here the work moves between threads.)
//
// DISK_FILE    the database, with its WAL and its journal; other files are not affected
// DISK_CALLS   which calls count: letters of w(rite), s(ync), t(runcate)
// DISK_FIRST   the first call that fails, from 1
// DISK_LAST    the last one
// DISK_FAULT   kill: kill the process before the call; tear: in the middle of a write; otherwise an error number
// DISK_WHILE   if set, calls fail only while this file exists
// DISK_RECORD  if set, every call that succeeded is appended to this file

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static const char *file, *calls, *fault, *trouble;
static long first, last, count;
static int record = -1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static ssize_t (*real_pwrite64)(int, const void *, size_t, off64_t);
static int (*real_fsync)(int);
static int (*real_fdatasync)(int);
static int (*real_ftruncate64)(int, off64_t);
static int (*real_unlink)(const char *);

static long number(const char *name) { return getenv(name) ? atol(getenv(name)) : 0; }

__attribute__((constructor)) static void start(void) {
    real_pwrite64 = dlsym(RTLD_NEXT, "pwrite64");
    real_fsync = dlsym(RTLD_NEXT, "fsync");
    real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
    real_ftruncate64 = dlsym(RTLD_NEXT, "ftruncate64");
    real_unlink = dlsym(RTLD_NEXT, "unlink");
    file = getenv("DISK_FILE");
    calls = getenv("DISK_CALLS") ?: "";
    fault = getenv("DISK_FAULT") ?: "";
    trouble = getenv("DISK_WHILE");
    first = number("DISK_FIRST");
    last = number("DISK_LAST");
    const char *path = getenv("DISK_RECORD");
    FILE *stream = path ? fopen(path, "a") : NULL;
    if (stream) record = fileno(stream);
}

// The suffix of the database's name in a path ("", "-wal" or "-journal"), or null for any other file.
static const char *part_of(const char *path) {
    size_t length = file ? strlen(file) : 0;
    if (!length || strncmp(path, file, length)) return NULL;
    const char *part = path + length;
    return !*part || !strcmp(part, "-wal") || !strcmp(part, "-journal") ? part : NULL;
}

static const char *part_at(int descriptor) {
    static char path[4096];
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return NULL;
    path[length] = 0;
    return part_of(path);
}

static void note(char call, const char *part, long long at, const void *bytes, size_t length) {
    char head[64];
    int size = snprintf(head, sizeof head, "%c %s %lld %zu\n", call, *part ? part : "-", at, length);
    struct iovec pieces[] = {{head, (size_t)size}, {(void *)bytes, length}};
    if (record >= 0 && writev(record, pieces, 2) < 0) abort();
}

// Whether this call is to fail. Kills the process here if the fault says so, in the middle of the given write.
static int fails(char call, int descriptor, const void *bytes, size_t length, off64_t at) {
    if (!strchr(calls, call) || (trouble && access(trouble, F_OK))) return 0;
    count++;
    if (count < first || count > last) return 0;
    int tears = !strcmp(fault, "tear");
    if (tears && bytes) real_pwrite64(descriptor, bytes, length / 2, at);
    if (tears || !strcmp(fault, "kill")) kill(getpid(), SIGKILL);
    errno = atoi(fault);
    return 1;
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t length, off64_t at) {
    pthread_mutex_lock(&lock);
    const char *part = part_at(descriptor);
    ssize_t written = -1;
    if (!part || !fails('w', descriptor, bytes, length, at)) written = real_pwrite64(descriptor, bytes, length, at);
    if (part && written > 0) note('w', part, at, bytes, (size_t)written);
    pthread_mutex_unlock(&lock);
    return written;
}

static int sync_file(int descriptor, int (*real)(int)) {
    pthread_mutex_lock(&lock);
    const char *part = part_at(descriptor);
    int result = -1;
    if (!part || !fails('s', descriptor, NULL, 0, 0)) result = real(descriptor);
    if (part && result == 0) note('s', part, 0, NULL, 0);
    pthread_mutex_unlock(&lock);
    return result;
}

int fsync(int descriptor) { return sync_file(descriptor, real_fsync); }

int fdatasync(int descriptor) { return sync_file(descriptor, real_fdatasync); }

int ftruncate64(int descriptor, off64_t length) {
    pthread_mutex_lock(&lock);
    const char *part = part_at(descriptor);
    int result = -1;
    if (!part || !fails('t', descriptor, NULL, 0, 0)) result = real_ftruncate64(descriptor, length);
    if (part && result == 0) note('t', part, length, NULL, 0);
    pthread_mutex_unlock(&lock);
    return result;
}

int unlink(const char *path) {
    pthread_mutex_lock(&lock);
    const char *part = part_of(path);
    int result = real_unlink(path);
    if (part && result == 0) note('u', part, 0, NULL, 0);
    pthread_mutex_unlock(&lock);
    return result;
}
