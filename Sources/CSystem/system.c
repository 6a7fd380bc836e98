#define _GNU_SOURCE
#include "CSystem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int csystem_event_open(void) {
    int descriptor = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return descriptor < 0 ? -errno : descriptor;
}

// Fails only when the counter is full, and then the poll is awake already.
void csystem_event_signal(int descriptor) {
    while (eventfd_write(descriptor, 1) < 0 && errno == EINTR) {
    }
}

// Fails only when the counter is zero, and then there is nothing to clear.
void csystem_event_clear(int descriptor) {
    eventfd_t count;
    while (eventfd_read(descriptor, &count) < 0 && errno == EINTR) {
    }
}

static __thread void *current_loop = NULL;

void *csystem_current_loop(void) { return current_loop; }

void csystem_set_current_loop(void *loop) { current_loop = loop; }

int csystem_die_with_parent(int parent) {
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0) {
        return -errno;
    }
    return getppid() == parent ? 0 : -ESRCH;
}

int csystem_file_status(int descriptor, const char *path, struct csystem_file *file) {
    struct statx status;
    int place = path ? AT_FDCWD : descriptor;
    if (statx(place, path ? path : "", AT_EMPTY_PATH, STATX_INO | STATX_SIZE, &status) < 0) {
        return -errno;
    }
    file->device = (uint64_t)status.stx_dev_major << 32 | status.stx_dev_minor;
    file->number = status.stx_ino;
    file->bytes = status.stx_size;
    return 0;
}

int csystem_lock_file(const char *path) {
    int descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (descriptor < 0) {
        return -errno;
    }
    if (flock(descriptor, LOCK_EX | LOCK_NB) < 0) {
        int code = -errno;
        close(descriptor);
        return code;
    }
    return descriptor;
}

int64_t csystem_raise_descriptor_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0) {
        return -errno;
    }
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0) {
        return -errno;
    }
    return (int64_t)limit.rlim_cur;
}

void csystem_return_large_memory(int bytes) {
    mallopt(M_MMAP_THRESHOLD, bytes);
    mallopt(M_TRIM_THRESHOLD, bytes);
}

void csystem_return_free_memory(void) { malloc_trim(0); }

int csystem_ignore_signals(void) {
    if (signal(SIGPIPE, SIG_IGN) == SIG_ERR || signal(SIGXFSZ, SIG_IGN) == SIG_ERR
        || signal(SIGHUP, SIG_IGN) == SIG_ERR) {
        return -errno;
    }
    return 0;
}

int csystem_forbid_core_dumps(void) {
    struct rlimit none = {0, 0};
    if (setrlimit(RLIMIT_CORE, &none) < 0 || prctl(PR_SET_DUMPABLE, 0) < 0) {
        return -errno;
    }
    return 0;
}

// Pages as /proc/self/statm counts them: all that have addresses, and those in RAM.
static int memory_pages(long long *total, long long *resident) {
    FILE *file = fopen("/proc/self/statm", "re");
    if (file == NULL) {
        return -errno;
    }
    int fields = fscanf(file, "%lld %lld", total, resident);
    fclose(file);
    return fields == 2 ? 0 : -EIO;
}

int64_t csystem_resident_bytes(void) {
    long long total = 0;
    long long resident = 0;
    int code = memory_pages(&total, &resident);
    return code < 0 ? code : (int64_t)(resident * sysconf(_SC_PAGESIZE));
}

static int64_t open_descriptors(void) {
    DIR *folder = opendir("/proc/self/fd");
    if (folder == NULL) {
        return -errno;
    }
    int64_t count = 0;
    while (readdir(folder) != NULL) {
        count += 1;
    }
    closedir(folder);
    // Without "." and "..", and the descriptor that the folder was read by.
    return count - 3;
}

struct csystem_usage csystem_usage(void) {
    struct csystem_usage usage;
    long long total = 0;
    long long resident = 0;
    int code = memory_pages(&total, &resident);
    long page = sysconf(_SC_PAGESIZE);
    usage.virtual_bytes = code < 0 ? code : (int64_t)(total * page);
    usage.resident_bytes = code < 0 ? code : (int64_t)(resident * page);
    struct timespec time;
    usage.cpu_microseconds = clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) < 0
        ? -errno
        : (int64_t)time.tv_sec * 1000000 + time.tv_nsec / 1000;
    usage.open_descriptors = open_descriptors();
    struct rlimit limit;
    usage.descriptors_max =
        getrlimit(RLIMIT_NOFILE, &limit) < 0 ? -errno : (int64_t)limit.rlim_cur;
    return usage;
}
