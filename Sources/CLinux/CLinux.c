// This macro must precede the first include, and belongs in this file only.
#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timex.h>
#include <unistd.h>

_Static_assert(sizeof(struct clinux_event) == sizeof(struct epoll_event), "same size as the kernel's event");
_Static_assert(offsetof(struct clinux_event, tag) == offsetof(struct epoll_event, data), "same place for the tag");

int clinux_accept(int descriptor, void *address, uint32_t *length) {
    return accept4(descriptor, address, length, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

int clinux_peer_credentials(int descriptor, int32_t *process, uint32_t *user, uint32_t *group) {
    struct ucred peer;
    socklen_t length = sizeof peer;
    if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return -1;
    *process = peer.pid;
    *user = peer.uid;
    *group = peer.gid;
    return 0;
}

static void limit(int resource, rlim_t most) {
    struct rlimit limits = {.rlim_cur = most, .rlim_max = most};
    setrlimit(resource, &limits);
}

int clinux_fork_for_trial(uint64_t growth_bytes) {
    // glibc puts the locks of its allocator in order for the copy.
    pid_t process = fork();
    if (process != 0) return process;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int number = 1; number < NSIG; number++) signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    limit(RLIMIT_CORE, 0);
    // The first number is the size of the address space in pages.
    unsigned long pages = 0;
    FILE *sizes = fopen("/proc/self/statm", "re");
    if (sizes && fscanf(sizes, "%lu", &pages) == 1) limit(RLIMIT_AS, pages * getpagesize() + growth_bytes);
    if (sizes) fclose(sizes);
    return 0;
}

int clinux_epoll_control(int epoll, int operation, int descriptor, uint32_t events, uint64_t tag) {
    struct epoll_event event = {.events = events, .data = {.u64 = tag}};
    return epoll_ctl(epoll, operation, descriptor, &event);
}

int clinux_epoll_wait(int epoll, struct clinux_event *events, int count, int milliseconds) {
    return epoll_wait(epoll, (struct epoll_event *)events, count, milliseconds);
}

// The offsets are those of struct tcp_info in linux/tcp.h, which conflicts with netinet/tcp.h: tcpi_rtt, tcpi_rttvar,
// tcpi_bytes_acked and tcpi_bytes_received.
int clinux_read_tcp_progress(int descriptor, struct clinux_tcp_progress *progress) {
    unsigned char info[136];
    int unacknowledged = 0;
    socklen_t length = sizeof info;
    if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, info, &length) != 0) return errno;
    if (length < sizeof info) return ENOTSUP;
    if (ioctl(descriptor, TIOCOUTQ, &unacknowledged) != 0) return errno;
    progress->is_established = info[0] == TCP_ESTABLISHED;
    memcpy(&progress->round_trip, info + 68, sizeof progress->round_trip);
    memcpy(&progress->round_trip_variation, info + 72, sizeof progress->round_trip_variation);
    memcpy(&progress->acknowledged, info + 120, sizeof progress->acknowledged);
    memcpy(&progress->received, info + 128, sizeof progress->received);
    progress->sent = progress->acknowledged + (uint64_t)unacknowledged;
    return 0;
}

int clinux_exchange(const char *one, const char *other) {
    return renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE);
}

long clinux_send_local(
    int socket, const void *address, unsigned int address_length, const void *bytes, size_t byte_count,
    const int *descriptors, int count) {
    // The union aligns the buffer as cmsg(3) demands.
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(clinux_max_passed * sizeof(int))];
    } control = {0};
    if (count < 0 || count > clinux_max_passed) {
        errno = EINVAL;
        return -1;
    }
    struct iovec vector = {.iov_base = (void *)bytes, .iov_len = byte_count};
    struct msghdr message = {
        .msg_name = (void *)address, .msg_namelen = address_length, .msg_iov = &vector, .msg_iovlen = 1};
    if (count > 0) {
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE((size_t)count * sizeof(int));
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN((size_t)count * sizeof(int));
        memcpy(CMSG_DATA(header), descriptors, (size_t)count * sizeof(int));
    }
    return sendmsg(socket, &message, MSG_NOSIGNAL);
}

int clinux_name_this_thread(const char *name) {
    return pthread_setname_np(pthread_self(), name);
}

int clinux_join_within(unsigned long thread, int milliseconds) {
    struct timespec end;
    if (clock_gettime(CLOCK_MONOTONIC, &end) != 0) return errno;
    long nanoseconds = end.tv_nsec + milliseconds % 1000 * 1000000L;
    end.tv_sec += milliseconds / 1000 + nanoseconds / 1000000000L;
    end.tv_nsec = nanoseconds % 1000000000L;
    int code = pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &end);
    if (code == ETIMEDOUT) pthread_detach(thread);
    return code;
}

const char *clinux_error_name(int code) {
    return strerrorname_np(code);
}

const char *clinux_error_text(int code) {
    return strerrordesc_np(code);
}

void clinux_return_memory(void) {
    malloc_trim(0);
}

// Read-only segments are never changed after the dynamic linker, so that their pages can come back from the file.
static int unmap_segments(struct dl_phdr_info *object, size_t size, void *context) {
    (void)size;
    const uintptr_t inPage = *(const uintptr_t *)context - 1;
    for (int at = 0; at < object->dlpi_phnum; at++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[at];
        if (segment->p_type != PT_LOAD || (segment->p_flags & PF_W) != 0) continue;
        uintptr_t begin = (object->dlpi_addr + segment->p_vaddr + inPage) & ~inPage;
        uintptr_t end = (object->dlpi_addr + segment->p_vaddr + segment->p_filesz) & ~inPage;
        if (begin < end) madvise((void *)begin, end - begin, MADV_DONTNEED);
    }
    return 0;
}

void clinux_unmap_program(void) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    dl_iterate_phdr(unmap_segments, &page);
}

int clinux_processors(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) {
        return 1;
    }
    return CPU_COUNT(&set);
}

int clinux_clock_is_synchronised(void) {
    struct timex state = {0};
    if (adjtimex(&state) < 0) return -1;
    return (state.status & STA_UNSYNC) == 0;
}

unsigned long clinux_descriptor_limit(void) {
    struct rlimit limit;
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

int clinux_raise_descriptor_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return errno;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0 ? 0 : errno;
}
