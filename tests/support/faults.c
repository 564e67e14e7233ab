/* A bad disk for one process: put in front of the C library with LD_PRELOAD, it fails what touches files below the
 * folder FAULTS_FOLDER, as the shared file FAULTS_CONTROL says at that moment: two integers, the mode and how many of
 * the calls it concerns still go well; with SECTOR, the number of a page. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NONE, FULL, FSYNC, IO, READONLY, KILL, LOSE, SECTOR };
enum { WRITES = 1, SYNCS = 2, CUTS = 4, NAMES = 8 };

/* What each mode concerns, and the error it gives. */
static const int concerned[] = {0, WRITES, SYNCS, WRITES, WRITES | CUTS, WRITES | SYNCS | CUTS | NAMES, SYNCS, 0};
static const int errors[] = {0, ENOSPC, EIO, EIO, EROFS, 0, EIO, 0};

static struct { atomic_int mode, after; } *control;
static const char *folder;

__attribute__((constructor)) static void start(void) {
    const char *path = getenv("FAULTS_CONTROL");
    folder = getenv("FAULTS_FOLDER");
    int fd = path && folder ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0) return;
    void *shared = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (shared != MAP_FAILED) control = shared;
    close(fd);
}

static int below(const char *path) { return !strncmp(path, folder, strlen(folder)); }

static int find(int fd, char path[4096]) {
    char link[32];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, 4095);
    path[length < 0 ? 0 : length] = 0;
    return length > 0;
}

static int is_ours(int fd) {
    char path[4096];
    return find(fd, path) && below(path);
}

/* Says whether a call on one of our files is to fail, with errno set. */
static int fails(int kind) {
    int mode = control->mode;
    if (!(concerned[mode] & kind)) return 0;
    if (atomic_fetch_sub(&control->after, 1) > 0) return 0;
    control->after = 0;
    if (mode == KILL) kill(getpid(), SIGKILL);
    errno = errors[mode];
    return 1;
}

/* With LOSE, a sync that fails takes back what was written since the last good one, as a system does that drops the
 * pages which it could not write. */
struct change { struct change *before; dev_t dev; ino_t ino; off_t at; size_t length; char old[]; };
static struct change *changes;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void remember(int fd, size_t length, off_t at) {
    struct stat file;
    struct change *one = calloc(1, sizeof *one + length);
    if (!one || fstat(fd, &file) || pread(fd, one->old, length, at) < 0) abort();
    pthread_mutex_lock(&lock);
    *one = (struct change){changes, file.st_dev, file.st_ino, at, length};
    changes = one;
    pthread_mutex_unlock(&lock);
}

typedef ssize_t (*pwrite_call)(int, const void *, size_t, off_t);
typedef int (*fd_call)(int);
#define REAL(type, name) ((type)dlsym(RTLD_NEXT, name))

static void settle(int fd, int lost) {
    struct stat file;
    if (fstat(fd, &file)) abort();
    pthread_mutex_lock(&lock);
    for (struct change **place = &changes; *place;) {
        struct change *one = *place;
        if (one->dev != file.st_dev || one->ino != file.st_ino) { place = &one->before; continue; }
        if (lost && REAL(pwrite_call, "pwrite64")(fd, one->old, one->length, one->at) < 0) abort();
        *place = one->before;
        free(one);
    }
    pthread_mutex_unlock(&lock);
}

static ssize_t pwrites(int fd, const void *data, size_t length, off_t at) {
    if (control && is_ours(fd)) {
        if (fails(WRITES)) return -1;
        if (control->mode == LOSE) remember(fd, length, at);
    }
    return REAL(pwrite_call, "pwrite64")(fd, data, length, at);
}

/* With SECTOR, the page of that number in the one file that is named cannot be read. */
static ssize_t preads(int fd, void *data, size_t length, off_t at) {
    char path[4096];
    if (control && control->mode == SECTOR && find(fd, path) && !strcmp(path, folder)) {
        off_t bad = (off_t)(control->after - 1) * 4096;
        if (at < bad + 4096 && at + (off_t)length > bad) return errno = EIO, -1;
    }
    return REAL(ssize_t (*)(int, void *, size_t, off_t), "pread64")(fd, data, length, at);
}

static int syncs(int fd, const char *name) {
    if (control && is_ours(fd)) {
        int lost = fails(SYNCS), problem = errno;
        settle(fd, lost);
        errno = problem;
        if (lost) return -1;
    }
    return REAL(fd_call, name)(fd);
}

static int cuts(int fd, off_t length) {
    if (control && is_ours(fd) && fails(CUTS)) return -1;
    return REAL(int (*)(int, off_t), "ftruncate64")(fd, length);
}

ssize_t pwrite(int fd, const void *data, size_t length, off_t at) { return pwrites(fd, data, length, at); }
ssize_t pwrite64(int fd, const void *data, size_t length, off_t at) { return pwrites(fd, data, length, at); }
ssize_t pread(int fd, void *data, size_t length, off_t at) { return preads(fd, data, length, at); }
ssize_t pread64(int fd, void *data, size_t length, off_t at) { return preads(fd, data, length, at); }
int fsync(int fd) { return syncs(fd, "fsync"); }
int fdatasync(int fd) { return syncs(fd, "fdatasync"); }
int ftruncate(int fd, off_t length) { return cuts(fd, length); }
int ftruncate64(int fd, off_t length) { return cuts(fd, length); }

ssize_t write(int fd, const void *data, size_t length) {
    if (control && is_ours(fd) && fails(WRITES)) return -1;
    return REAL(ssize_t (*)(int, const void *, size_t), "write")(fd, data, length);
}

int rename(const char *from, const char *to) {
    if (control && below(to) && fails(NAMES)) return -1;
    return REAL(int (*)(const char *, const char *), "rename")(from, to);
}

int unlink(const char *path) {
    if (control && below(path) && fails(NAMES)) return -1;
    return REAL(int (*)(const char *), "unlink")(path);
}
