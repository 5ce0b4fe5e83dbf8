// The clients of `scripts/bench replay`: plays one trace against several servers at the same time. Each query has a
// socket of its own (connected, with a fresh port, as stub resolvers do), is sent once, and has failed when five
// seconds have brought no answer. Arrival is what the kernel stamped on the reply, so that this program's own waking
// does not count. The servers' queries are spread over the mean gap, so that they do not ask all at once.
//
//     replay-load BEGIN FROM TO SECONDS NAMES DOMAINS RATE SEED WAITS SERVER=PORT...
//
// BEGIN is a time (Unix, seconds), before which every server must have answered a first query for a name outside of
// the trace; FROM and TO are the outage in seconds after it. The NAMES are of so many registrable DOMAINS. RATE is in
// queries a second. A server called `floor` echoes. Prints a line per server:
//
//     server, queries, repeats, of these good and under 5 ms; p50, p99, p99.9 of all, of repeats (ms);
//     expired answers: while the primary works, in the outage, worst excess of the former (s);
//     failures before, in, after the outage; all of them as unanswered, refused (SERVFAIL ...), wrong
//
// It writes a line to the file WAITS for each repeat that took 5 ms or more, each failure, and each expired answer
// while the primary works:
//
//     server, second of the trace, name, lifetime (s), milliseconds, "slow" or "failed" or "expired"
#define _GNU_SOURCE
#include "replay-load.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    maxOpenSockets = 30000, // 16 servers that are silent for five seconds: 12,000
    maxEvents = 64,
    progressSeconds = 5,
    readyWaitMilliseconds = 200,
    maxClockStepMilliseconds = 50,
    spreadNanoseconds = 6000000, // over which the servers are asked the same: a little less than the mean gap
};

struct server {
    const char *name;
    struct sockaddr_in address;
    size_t next; // what is to be asked next
    struct flight *flights;
};

static struct server servers[maxServers];
static unsigned serverCount;
static struct arrival *arrivals;
static size_t arrivalCount;
static int64_t begin;
static int poller;
// All flights in the order of sending, which is that of their timeouts.
static struct flight **sentOrder;
static size_t sentCount, settledCount;

static void fail(const char *what, const char *detail) {
    fprintf(stderr, "replay-load: %s: %s\n", what, detail);
    exit(1);
}

static int is_echo(const struct server *server) { return strcmp(server->name, "floor") == 0; }

static int open_socket(const struct server *server) {
    int descriptor = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), one = 1;
    if (descriptor < 0) fail("socket", strerror(errno));
    if (setsockopt(descriptor, SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof one) < 0) {
        fail("SO_TIMESTAMPNS", strerror(errno));
    }
    if (connect(descriptor, (const struct sockaddr *)&server->address, sizeof server->address) < 0) {
        fail("connect", strerror(errno));
    }
    return descriptor;
}

// MARK: preparation

static void add_server(char *argument) {
    char *port = strchr(argument, '=');
    if (port == NULL || serverCount == maxServers) fail("server", argument);
    *port++ = 0;
    servers[serverCount++] = (struct server){
        .name = argument,
        .address = {
            .sin_family = AF_INET,
            .sin_port = htons((unsigned short)atoi(port)),
            .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
        },
    };
}

static void await_server(const struct server *server) {
    unsigned char query[maxQueryBytes], reply[maxReplyBytes];
    uint32_t issued;
    for (unsigned id = 0; wall_nanoseconds() < begin; id++) {
        int descriptor = open_socket(server);
        size_t queryBytes = write_query("ready.replay.example", id, query);
        send(descriptor, query, queryBytes, MSG_NOSIGNAL);
        struct pollfd wait = {.fd = descriptor, .events = POLLIN};
        poll(&wait, 1, readyWaitMilliseconds);
        ssize_t bytes = recv(descriptor, reply, sizeof reply, 0);
        close(descriptor);
        if (bytes > 0 && judge_reply(query, queryBytes, reply, (size_t)bytes, is_echo(server), &issued) == answered) {
            return;
        }
        if (wait.revents & POLLERR) usleep(readyWaitMilliseconds * 100); // not listening yet
    }
    fail(server->name, "not ready in time");
}

static void prepare_flights(void) {
    sentOrder = calloc(arrivalCount * serverCount, sizeof *sentOrder);
    for (unsigned index = 0; index < serverCount; index++) {
        struct server *server = &servers[index];
        server->flights = calloc(arrivalCount, sizeof *server->flights);
        if (server->flights == NULL || sentOrder == NULL) fail("memory", strerror(errno));
        for (size_t place = 0; place < arrivalCount; place++) server->flights[place].descriptor = -1;
    }
}

static void allow_many_sockets(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0) fail("getrlimit", strerror(errno));
    if (limit.rlim_max > maxOpenSockets) limit.rlim_max = maxOpenSockets;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0) fail("setrlimit", strerror(errno));
}

// MARK: asking

static void settle(struct flight *flight, enum verdict verdict) {
    flight->verdict = verdict;
    close(flight->descriptor);
    flight->descriptor = -1;
}

static void ask(struct server *server, unsigned number) {
    unsigned char query[maxQueryBytes];
    char name[maxQueryBytes];
    const struct arrival *arrival = &arrivals[server->next];
    struct flight *flight = &server->flights[server->next];
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = (uint64_t)number << 32 | server->next};
    server->next++;
    write_name(arrival->name, name);
    size_t bytes = write_query(name, arrival->id, query);
    flight->descriptor = open_socket(server);
    if (epoll_ctl(poller, EPOLL_CTL_ADD, flight->descriptor, &event) < 0) fail("epoll_ctl", strerror(errno));
    sentOrder[sentCount++] = flight;
    flight->sent = wall_nanoseconds();
    if (send(flight->descriptor, query, bytes, MSG_NOSIGNAL) < 0) settle(flight, wrong); // no listener any more
}

// The server that is to be asked first, and when; NULL when all has been asked.
static struct server *next_server(int64_t *at) {
    struct server *first = NULL;
    for (unsigned index = 0; index < serverCount; index++) {
        struct server *server = &servers[index];
        if (server->next == arrivalCount) continue;
        int64_t due = begin + arrivals[server->next].at + (int64_t)index * spreadNanoseconds / serverCount;
        if (first != NULL && due >= *at) continue;
        first = server;
        *at = due;
    }
    return first;
}

// Returns when to look again.
static int64_t ask_due(int64_t now) {
    int64_t due = now + timeoutSeconds * 1000000000ll;
    for (struct server *server = next_server(&due); server != NULL && due <= now; server = next_server(&due)) {
        ask(server, (unsigned)(server - servers));
    }
    return due;
}

// MARK: replies

static int64_t arrival_time(struct msghdr *message) {
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part != NULL; part = CMSG_NXTHDR(message, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_TIMESTAMPNS) continue;
        struct timespec stamp;
        memcpy(&stamp, CMSG_DATA(part), sizeof stamp);
        return (int64_t)stamp.tv_sec * 1000000000 + stamp.tv_nsec;
    }
    return wall_nanoseconds();
}

static void take_reply(uint64_t key) {
    const struct server *server = &servers[key >> 32];
    const struct arrival *arrival = &arrivals[key & 0xFFFFFFFF];
    struct flight *flight = &server->flights[key & 0xFFFFFFFF];
    unsigned char query[maxQueryBytes], reply[maxReplyBytes];
    char name[maxQueryBytes], control[128];
    struct iovec vector = {reply, sizeof reply};
    struct msghdr message = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    if (flight->descriptor < 0) return;
    ssize_t bytes = recvmsg(flight->descriptor, &message, 0);
    if (bytes < 0) {
        if (errno != EAGAIN) settle(flight, wrong); // no listener any more
        return;
    }
    write_name(arrival->name, name);
    size_t queryBytes = write_query(name, arrival->id, query);
    int verdict = judge_reply(query, queryBytes, reply, (size_t)bytes, is_echo(server), &flight->issued);
    if (verdict < 0) return;
    flight->received = arrival_time(&message);
    settle(flight, (enum verdict)verdict);
}

// Returns when the oldest query has waited long enough; `otherwise` when nothing is outstanding.
static int64_t give_up_old(int64_t now, int64_t otherwise) {
    for (; settledCount < sentCount; settledCount++) {
        struct flight *flight = sentOrder[settledCount];
        if (flight->descriptor < 0) continue;
        int64_t end = flight->sent + timeoutSeconds * 1000000000ll;
        if (end > now) return end < otherwise ? end : otherwise;
        settle(flight, unanswered);
    }
    return otherwise;
}

// MARK: the loop

static void show_progress(int64_t now, unsigned seconds) {
    static int64_t shown;
    if (now < begin || now < shown + progressSeconds * 1000000000ll) return;
    shown = now;
    fprintf(stderr, isatty(2) ? "\r\033[Kreplay: %ld of %u s, %zu queries" : "replay: %ld of %u s, %zu queries\n",
            (now - begin) / 1000000000, seconds, sentCount);
}

static void play(unsigned seconds) {
    for (;;) {
        int64_t now = wall_nanoseconds(), next = give_up_old(now, ask_due(now));
        if (settledCount == arrivalCount * serverCount) break;
        int64_t wait = next - wall_nanoseconds();
        if (wait < 0) wait = 0;
        struct timespec timeout = {wait / 1000000000, wait % 1000000000};
        struct epoll_event events[maxEvents];
        int count = epoll_pwait2(poller, events, maxEvents, &timeout, NULL);
        for (int index = 0; index < count; index++) take_reply(events[index].data.u64);
        show_progress(now, seconds);
    }
    if (isatty(2)) fputs("\r\033[K", stderr);
}

// Nanoseconds: the wall clock less the time since boot. Constant unless the clock is set.
static int64_t clock_offset(void) {
    struct timespec now;
    if (clock_gettime(CLOCK_BOOTTIME, &now) < 0) fail("clock_gettime", strerror(errno));
    return wall_nanoseconds() - now.tv_sec * 1000000000ll - now.tv_nsec;
}

int main(int argc, char **argv) {
    if (argc < 11 || atoi(argv[4]) < 1 || atoi(argv[5]) < 1 || atoi(argv[5]) > maxNames || atoi(argv[6]) < 1
        || atoi(argv[7]) < 1) {
        fprintf(stderr, "usage: replay-load BEGIN FROM TO SECONDS NAMES DOMAINS RATE SEED WAITS SERVER=PORT...\n");
        return 3;
    }
    begin = nanoseconds_of(argv[1]);
    struct outage outage = {begin + nanoseconds_of(argv[2]), begin + nanoseconds_of(argv[3])};
    struct trace trace = {
        .seed = strtoull(argv[8], NULL, 10),
        .names = (unsigned)atoi(argv[5]),
        .domains = (unsigned)atoi(argv[6]),
        .seconds = (unsigned)atoi(argv[4]),
        .rate = (unsigned)atoi(argv[7]),
    };
    arrivalCount = make_trace(&trace, &arrivals);
    FILE *waits = fopen(argv[9], "we");
    if (waits == NULL) fail(argv[9], strerror(errno));
    for (int index = 10; index < argc; index++) add_server(argv[index]);
    prepare_flights();
    allow_many_sockets();
    poller = epoll_create1(EPOLL_CLOEXEC);
    if (poller < 0) fail("epoll_create1", strerror(errno));
    open_socket(&servers[0]); // stays open, so that the kernel goes on stamping when nothing is outstanding
    for (unsigned index = 0; index < serverCount; index++) await_server(&servers[index]);
    int64_t offset = clock_offset();
    play(trace.seconds);
    if (llabs(clock_offset() - offset) > maxClockStepMilliseconds * 1000000ll) fail("clock", "was set meanwhile");
    for (unsigned index = 0; index < serverCount; index++) {
        print_figures(servers[index].name, arrivals, servers[index].flights, arrivalCount, begin, &outage, waits);
    }
    if (fclose(waits) != 0) fail(argv[9], strerror(errno));
    return 0;
}
