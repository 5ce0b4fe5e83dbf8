// System calls and macros that Swift cannot see: headers that the Glibc module leaves out, and functions for what
// glibc shows to GNU sources only. No feature macro is defined here: it would split types between modules.
// Nor is a header included that Glibc shows already, such as <sys/socket.h>: what is found in two modules can be
// missing in a file that imports one of them (seen with SOCK_NONBLOCK; it depends on the order of the build).
#pragma once
#include "CCrash.h"
#include "CDatagrams.h"
#include "CNetlink.h"
#include "CPrivileges.h"

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

/// struct epoll_event with its union, which Swift takes for unsafe, replaced by the one member we use.
struct clinux_event {
    uint32_t events;
    uint64_t tag;
} __EPOLL_PACKED;

int clinux_epoll_control(int epoll, int operation, int descriptor, uint32_t events, uint64_t tag);

int clinux_epoll_wait(int epoll, struct clinux_event *_Nonnull events, int count, int milliseconds);

/// Whether a time service synchronises the wall clock (adjtimex, whose header Glibc leaves out): 1, 0, or -1 if
/// unknown.
int clinux_clock_is_synchronised(void);

/// Names the calling thread (GNU only); at most 15 bytes. 0, or an error number.
int clinux_name_this_thread(const char *_Nonnull name);

/// "EADDRINUSE", or NULL for an unknown number (GNU only).
const char *_Nullable clinux_error_name(int code);

/// "Address already in use", or NULL for an unknown number: fixed text, safe in every thread (GNU only).
const char *_Nullable clinux_error_text(int code);

/// Processors this process may run on (sched_getaffinity, CPU_COUNT); at least 1.
int clinux_processors(void);

/// How many descriptors the process may have open (the soft RLIMIT_NOFILE); 0 if the kernel does not tell.
unsigned long clinux_descriptor_limit(void);
/// Raises the soft limit to the hard one. 0, or an error number.
int clinux_raise_descriptor_limit(void);
