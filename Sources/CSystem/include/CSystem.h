#ifndef CSYSTEM_H
#define CSYSTEM_H

#include <stdint.h>

// What Swift cannot import from Linux, and nothing else. A function that can fail returns a
// negative errno, as libuv does; none of them touches the caller's errno on purpose.

// A counter that a poll can wait for (eventfd): signalling it from any thread wakes the poll,
// clearing it lets the poll sleep again. Returns a descriptor, closed with close().
int csystem_event_open(void);
void csystem_event_signal(int descriptor);
void csystem_event_clear(int descriptor);

// Whose loop runs on the calling thread; null on a thread that runs none. These are calls into
// another translation unit on purpose: the optimiser may keep the value of pthread_self(), or of
// an inlined thread-local, across a suspension that ends on another thread.
void *csystem_current_loop(void);
void csystem_set_current_loop(void *loop);

// Asks the kernel to kill this process when the thread that started it ends. Returns -ESRCH when
// the parent was not `parent` any more, so that a parent that died first is noticed as well.
int csystem_die_with_parent(int parent);

// Opens the file, creating it, and locks it for as long as the returned descriptor stays open.
// Returns -EWOULDBLOCK when another process holds it. A killed process leaves no lock behind.
int csystem_lock_file(const char *path);

// Which file a path leads to, or with a null path is open, and how long it is, without its
// times: a file whose times somebody has asked for gets a time of its own at the next write, which
// costs the next sync. Returns -ENOENT where there is none. Source: the kernel's
// Documentation/filesystems/multigrain-ts.rst.
struct csystem_file {
    uint64_t device;
    uint64_t number;
    uint64_t bytes;
};
int csystem_file_status(int descriptor, const char *path, struct csystem_file *file);

// Raises the soft limit of open descriptors to the hard one. Returns the limit in force.
int64_t csystem_raise_descriptor_limit(void);

// A peer that is gone and a full disk become errors of write(), not the end of the process:
// ignores SIGPIPE and SIGXFSZ; and SIGHUP, until somebody watches it.
int csystem_ignore_signals(void);

// Has the process leave no core dump: neither a file (RLIMIT_CORE) nor what the kernel pipes to a
// collector such as systemd-coredump, which that limit does not hold up (PR_SET_DUMPABLE). Another
// process of the same user cannot trace it or read its memory either.
int csystem_forbid_core_dumps(void);

// Has the allocator give memory back to the system once so many bytes in a piece are free, and
// go on doing so: by itself glibc keeps more each time that a larger piece was freed.
void csystem_return_large_memory(int bytes);

// Gives every page that nothing lies on back to the system, now: what lay between was kept for it.
void csystem_return_free_memory(void);

// Bytes of memory that this process has in RAM.
int64_t csystem_resident_bytes(void);

// What this process takes of the machine, each -errno where it cannot be known.
struct csystem_usage {
    int64_t resident_bytes;
    int64_t virtual_bytes;
    // Of all threads.
    int64_t cpu_microseconds;
    int64_t open_descriptors;
    int64_t descriptors_max;
};
struct csystem_usage csystem_usage(void);

#endif
