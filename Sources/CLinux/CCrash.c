// This macro must precede the first include, and belongs in this file only.
#define _GNU_SOURCE
#include "CCrash.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const int crash_signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGABRT, SIGFPE};
enum { crash_signal_count = sizeof crash_signals / sizeof crash_signals[0] };

// State of the handler. The main thread writes it only while `is_armed` is 0.
static atomic_int is_armed;
static char armed_path[PATH_MAX];
static char armed_folder[PATH_MAX];
static unsigned char armed_header[clinux_max_record_header];
static size_t armed_header_count;
static struct clinux_record_part armed_parts[clinux_max_record_parts];
static size_t armed_part_count;

static int write_all(int file, const void *bytes, size_t count) {
    const char *at = bytes;
    while (count > 0) {
        ssize_t done = write(file, at, count);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return errno;
        at += done;
        count -= (size_t)done;
    }
    return 0;
}

static int64_t now(clockid_t clock, int64_t units_per_second) {
    struct timespec time;
    if (clock_gettime(clock, &time) != 0) return 0;
    return (int64_t)time.tv_sec * units_per_second + time.tv_nsec / (1000000000 / units_per_second);
}

// Keeps the previous file, which may show the first fault.
static void keep_former(const char *path) {
    char former[PATH_MAX + 2];
    size_t count = strlen(path);
    if (count >= PATH_MAX) return;
    memcpy(former, path, count);
    memcpy(former + count, ".1", 3);
    rename(path, former);
}

int clinux_write_records(
    const char *path, const void *header, size_t header_count, const struct clinux_record_part *parts,
    size_t part_count, int64_t signal) {
    keep_former(path);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (file < 0) return errno;
    struct clinux_record_moment moment = {
        .signal = signal,
        .boot_nanoseconds = now(CLOCK_BOOTTIME, 1000000000),
        .wall_microseconds = now(CLOCK_REALTIME, 1000000),
    };
    // An existing file may have wider permissions.
    int error = fchmod(file, 0600) == 0 ? 0 : errno;
    if (error == 0) error = write_all(file, header, header_count);
    if (error == 0) error = write_all(file, &moment, sizeof moment);
    for (size_t part = 0; part < part_count && error == 0; part++) {
        error = write_all(file, parts[part].bytes, parts[part].count);
    }
    if (close(file) != 0 && error == 0) error = errno;
    return error;
}

// Never blocks: text without room is dropped. A pipe with room takes 4096 bytes at once.
static int say(const char *text, size_t count) {
    struct pollfd room = {.fd = STDERR_FILENO, .events = POLLOUT};
    if (poll(&room, 1, 0) != 1 || !(room.revents & POLLOUT)) return EAGAIN;
    return write_all(STDERR_FILENO, text, count);
}

// Limits the handler's run time: the alarm ends the process.
static void end_soon(void) {
    enum { patience_seconds = 5 };
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigaction(SIGALRM, &action, NULL);
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    sigprocmask(SIG_UNBLOCK, &alarms, NULL);
    alarm(patience_seconds);
}

// Message for the operator. Without stdio, which may hold a lock.
static void tell(int signal) {
    char text[] = "httpdnsd: signal 00: the flight recorder is written to ";
    text[17] = (char)('0' + signal / 10 % 10);
    text[18] = (char)('0' + signal % 10);
    if (say(text, sizeof text - 1) != 0) return;
    if (say(armed_path, strlen(armed_path)) != 0) return;
    say("\n", 1);
}

static void end_as_without(int signal) {
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigaction(signal, &action, NULL);
    // The signal is blocked while the handler runs. It ends the process when the handler returns to the fault.
    raise(signal);
}

static void crashed(int signal) {
    static atomic_int first_thread;
    int self = (int)syscall(SYS_gettid);
    int none = 0;
    if (!atomic_compare_exchange_strong(&first_thread, &none, self)) {
        // A fault while writing the file ends the process. Other threads wait for that.
        while (none != self) pause();
        end_as_without(signal);
        return;
    }
    end_soon();
    if (atomic_load(&is_armed)) {
        int error = clinux_write_records(
            armed_path, armed_header, armed_header_count, armed_parts, armed_part_count, signal);
        if (error == ENOENT && mkdir(armed_folder, 0700) == 0) {
            error = clinux_write_records(
                armed_path, armed_header, armed_header_count, armed_parts, armed_part_count, signal);
        }
        if (error == 0) tell(signal);
    }
    end_as_without(signal);
}

static int install(void) {
    struct sigaction action = {.sa_handler = crashed, .sa_flags = SA_ONSTACK};
    sigfillset(&action.sa_mask);
    for (int index = 0; index < crash_signal_count; index++) {
        // A fault in the handler itself must be delivered.
        sigdelset(&action.sa_mask, crash_signals[index]);
    }
    for (int index = 0; index < crash_signal_count; index++) {
        if (sigaction(crash_signals[index], &action, NULL) != 0) return errno;
    }
    return 0;
}

int clinux_write_records_on_crash(
    const char *path, const void *header, size_t header_count, const struct clinux_record_part *parts,
    size_t part_count) {
    atomic_store(&is_armed, 0);
    if (path == NULL) return 0;
    if (strlen(path) >= sizeof armed_path) return ENAMETOOLONG;
    if (header_count > sizeof armed_header || part_count > clinux_max_record_parts) return E2BIG;
    strcpy(armed_path, path);
    strcpy(armed_folder, path);
    char *end = strrchr(armed_folder, '/');
    if (end != NULL && end != armed_folder) *end = 0;
    memcpy(armed_header, header, header_count);
    armed_header_count = header_count;
    memcpy(armed_parts, parts, part_count * sizeof *parts);
    armed_part_count = part_count;
    atomic_store(&is_armed, 1);
    return install();
}

int clinux_use_crash_stack(void) {
    stack_t present;
    if (sigaltstack(NULL, &present) == 0 && !(present.ss_flags & SS_DISABLE)) return 0;
    // Enough for a signal frame with the registers of the largest processors, and for the handler. Takes no memory
    // before a crash, unlike thread-local storage, which is written whole when a thread starts. Stays until the end of
    // the process, as the threads do.
    size_t size = 64 * 1024;
    void *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED) return errno;
    stack_t alternate = {.ss_sp = stack, .ss_size = size};
    return sigaltstack(&alternate, NULL) == 0 ? 0 : errno;
}
