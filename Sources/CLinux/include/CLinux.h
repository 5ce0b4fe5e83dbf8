// System calls and macros that Swift cannot import: headers missing in the Glibc module, and functions that glibc
// declares for GNU sources only. Defines no feature macro, which would split types between modules. Includes no header
// that Glibc exports, such as <sys/socket.h>: a declaration in two modules can be missing in a file that imports only
// one (seen with SOCK_NONBLOCK, depending on the build order).
#pragma once
#include "CCrash.h"
#include "CDatagrams.h"
#include "CNetlink.h"
#include "CPrivileges.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>

/// accept4 with SOCK_NONBLOCK and SOCK_CLOEXEC (GNU only).
///
/// - Parameter address: a struct sockaddr_storage; `length` is a socklen_t.
int clinux_accept(int descriptor, void *_Nullable address, uint32_t *_Nullable length);

/// Credentials of the peer of a UNIX socket: SO_PEERCRED, whose struct ucred is GNU only.
int clinux_peer_credentials(
    int descriptor, int32_t *_Nonnull process, uint32_t *_Nonnull user, uint32_t *_Nonnull group);

/// struct epoll_event, whose union Swift imports as unsafe, with only the member that is used.
struct clinux_event {
    uint32_t events;
    uint64_t tag;
} __EPOLL_PACKED;

int clinux_epoll_control(int epoll, int operation, int descriptor, uint32_t events, uint64_t tag);

int clinux_epoll_wait(int epoll, struct clinux_event *_Nonnull events, int count, int milliseconds);

/// Starts loading the cache line of an address, which need not be valid.
static inline void clinux_prefetch(const void *_Nonnull address) { __builtin_prefetch(address); }

/// Starts a copy of the process with the calling thread alone (fork, which Swift refuses to import): to run code that
/// may fail. In the copy, signals have their default effects and leave no core, its memory may grow by `growth_bytes`,
/// and the kernel kills it when the caller ends.
///
/// - Returns: 0 in the copy, its process ID in the caller, or -1 with errno.
int clinux_fork_for_trial(uint64_t growth_bytes);

/// Returns whether a time service synchronises the wall clock: 1, 0, or -1 if unknown (adjtimex, whose header Glibc
/// lacks).
int clinux_clock_is_synchronised(void);

/// Exchanges two entries of directories in one step, of any kind: renameat2 with RENAME_EXCHANGE (GNU only). EINVAL if
/// the file system can't.
int clinux_exchange(const char *_Nonnull one, const char *_Nonnull other);

/// The most descriptors of one message (SCM_MAX_FD of the kernel).
enum { clinux_max_passed = 253 };

/// Sends a datagram to a UNIX socket, with copies of `count` descriptors, at most `clinux_max_passed` (SCM_RIGHTS,
/// unix(7)). Blocks unless the socket has O_NONBLOCK. Returns the bytes sent, or -1 with errno.
///
/// - Parameter address: a struct sockaddr_un of `address_length` bytes.
long clinux_send_local(
    int socket, const void *_Nonnull address, unsigned int address_length, const void *_Nonnull bytes,
    size_t byte_count, const int *_Nullable descriptors, int count);

/// Names the calling thread (GNU only); at most 15 bytes. Returns 0 or an error number.
int clinux_name_this_thread(const char *_Nonnull name);

/// Waits until a thread has ended (GNU only). Returns 0, or ETIMEDOUT after `milliseconds`, with the thread detached.
///
/// - Parameter thread: a pthread_t.
int clinux_join_within(unsigned long thread, int milliseconds);

/// Returns "EADDRINUSE", or NULL for an unknown number (GNU only).
const char *_Nullable clinux_error_name(int code);

/// Returns "Address already in use", or NULL for an unknown number: a constant, safe in every thread (GNU only).
const char *_Nullable clinux_error_text(int code);

/// Returns the number of processors this process may use (sched_getaffinity, CPU_COUNT); at least 1.
int clinux_processors(void);

/// State of a TCP connection in the kernel: bytes since it was opened, times in microseconds.
struct clinux_tcp_progress {
    int is_established;
    uint64_t sent, acknowledged, received;
    uint32_t round_trip, round_trip_variation;
};

/// Reads TCP_INFO (Linux 4.1), whose struct in glibc lacks the counters. Returns 0 or an error number.
int clinux_read_tcp_progress(int descriptor, struct clinux_tcp_progress *_Nonnull progress);

/// Returns the heap's unused pages to the system (malloc_trim, GNU only).
void clinux_return_memory(void);

/// Unmaps the read-only pages of the program and its libraries, which come back from the page cache when they are used.
void clinux_unmap_program(void);

/// Returns the maximum number of open descriptors (the soft RLIMIT_NOFILE); 0 if unknown.
unsigned long clinux_descriptor_limit(void);
/// Raises the soft limit to the hard limit. Returns 0 or an error number.
int clinux_raise_descriptor_limit(void);
