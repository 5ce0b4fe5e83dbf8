// The upstreams of `scripts/bench replay`: for each server a primary (DNS over UDP, and HTTP/1.1 with the dialects
// `json` and `dnspod-https`) that answers after 30 ms, and a second resolver (DNS over UDP) that answers after 120 ms.
// Every name exists and has one address, which tells when it was issued (replay.h).
//
//     replay-upstream SERVERS BEGIN FROM TO OUTAGE
//
// BEGIN is a time (Unix, seconds), FROM and TO are seconds after it: in between every primary has an outage. The second
// resolvers live on. A primary listens on 127.0.0.1 and 127.0.0.2. OUTAGE is one of:
//
//     silent       the worst kind: it takes requests, connections stay open, and nothing ever comes back
//     failing      every reply is 502, or SERVFAIL
//     throttling   every reply is 429 without Retry-After, or REFUSED
//     resetting    a request resets its connection; datagrams get no reply
//     one-address  silent at 127.0.0.1 only
//     slow         replies take ten times as long
//
// Prints a line of ports per server (primary DNS, primary HTTP, second), and at SIGTERM what each server asked for:
//
//     primary requests, names; in the outage: requests, names; second resolver: requests; in the outage: requests
//
// A request is an HTTP request or a datagram; a name is a question, of which a batch has several. What comes before
// BEGIN is answered and not counted.
#define _GNU_SOURCE
#include "replay-upstream.h"

#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    primaryDelayMilliseconds = 30,
    slowDelayMilliseconds = 300,
    secondDelayMilliseconds = 120,
    codeServerFailure = 2,
    codeRefused = 5,
    addresses = 2,
    maxWaiting = 8192,    // requests on their way: 16 servers that each ask 150 times a second need 300
    maxConnections = 1024, // 32 for each address of a server
    maxDatagramsInTurn = 64,
    maxEvents = 64,
};

enum kind { primaryDNS, primaryHTTP, secondDNS, connection, termination };

// What becomes of a request.
enum fate { answered, answeredLate, failed, refused, reset, dropped };

struct endpoint {
    enum kind kind;
    unsigned server, address; // the address from 0 on
    int descriptor;
    uint64_t generation; // of a connection: requests of an earlier one in the same place find it changed
    size_t bytes;        // of a connection: what `text` holds of its next request
    char text[maxRequestBytes];
};

struct request {
    int64_t due;
    enum fate fate;
    struct endpoint *from;
    uint64_t generation;
    struct sockaddr_in peer;
    size_t bytes;
    char text[maxRequestBytes];
};

// First in, first out: the delay is the same for all.
struct queue {
    int64_t delay;
    uint64_t taken, added;
    struct request ring[maxWaiting];
};

struct counts {
    uint64_t requests, names;
};

static struct queue primaryQueue = {.delay = primaryDelayMilliseconds * 1000000ll};
static struct queue slowQueue = {.delay = slowDelayMilliseconds * 1000000ll};
static struct queue secondQueue = {.delay = secondDelayMilliseconds * 1000000ll};
static struct queue *const queues[] = {&primaryQueue, &slowQueue, &secondQueue};
static struct endpoint primaries[maxServers][addresses][2], seconds[maxServers], connections[maxConnections], signals;
static struct counts primary[maxServers][2], second[maxServers][2]; // outside and inside the outage
static int64_t begin, outageBegin, outageEnd;
static const char *outage;
static int poller;

static void fail(const char *what) {
    fprintf(stderr, "replay-upstream: %s: %s\n", what, strerror(errno));
    exit(1);
}

unsigned answer_lifetime(const char *name) { return lifetime_seconds(name); }

uint32_t answer_address(uint32_t issued) { return (uint32_t)addressBlock << 24 | issued; }

static int is_outage(int64_t now) { return now >= outageBegin && now < outageEnd; }

static int is_kind(const char *kind) { return strcmp(outage, kind) == 0; }

// What the primary or second resolver does now with a request.
static enum fate fate_of(const struct endpoint *from, int64_t now) {
    if (from->kind == secondDNS || !is_outage(now)) return answered;
    if (is_kind("failing")) return failed;
    if (is_kind("throttling")) return refused;
    if (is_kind("resetting")) return from->kind == connection ? reset : dropped;
    if (is_kind("one-address")) return from->address == 0 ? dropped : answered;
    return is_kind("slow") ? answeredLate : dropped;
}

// MARK: sockets

static void watch(struct endpoint *endpoint) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = endpoint};
    if (epoll_ctl(poller, EPOLL_CTL_ADD, endpoint->descriptor, &event) < 0) fail("epoll_ctl");
}

// With port 0, the kernel chooses one. Returns the port.
static unsigned listen_on(struct endpoint *endpoint, enum kind kind, unsigned server, unsigned place, unsigned port) {
    int type = kind == primaryHTTP ? SOCK_STREAM : SOCK_DGRAM;
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK + place), .sin_port = htons((uint16_t)port)};
    socklen_t bytes = sizeof address;
    *endpoint = (struct endpoint){.kind = kind, .server = server, .address = place};
    endpoint->descriptor = socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (endpoint->descriptor < 0) fail("socket");
    if (bind(endpoint->descriptor, (struct sockaddr *)&address, bytes) < 0) fail("bind");
    if (kind == primaryHTTP && listen(endpoint->descriptor, SOMAXCONN) < 0) fail("listen");
    if (getsockname(endpoint->descriptor, (struct sockaddr *)&address, &bytes) < 0) fail("getsockname");
    watch(endpoint);
    return ntohs(address.sin_port);
}

static void open_listeners(unsigned servers) {
    for (unsigned server = 0; server < servers; server++) {
        unsigned dns = 0, http = 0; // the same ports at all addresses
        for (unsigned place = 0; place < addresses; place++) {
            dns = listen_on(&primaries[server][place][0], primaryDNS, server, place, dns);
            http = listen_on(&primaries[server][place][1], primaryHTTP, server, place, http);
        }
        printf("%u %u %u\n", dns, http, listen_on(&seconds[server], secondDNS, server, 0, 0));
    }
    fflush(stdout);
}

static void watch_termination(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signals = (struct endpoint){.kind = termination, .descriptor = signalfd(-1, &set, SFD_CLOEXEC)};
    if (signals.descriptor < 0) fail("signalfd");
    watch(&signals);
}

static void accept_connection(const struct endpoint *listener) {
    int descriptor = accept4(listener->descriptor, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (descriptor < 0) return;
    struct endpoint *free = connections;
    while (free < connections + maxConnections && free->descriptor >= 0) free++;
    if (free == connections + maxConnections) {
        errno = EMFILE;
        fail("connections");
    }
    uint64_t generation = free->generation + 1;
    *free = (struct endpoint){connection, listener->server, listener->address, descriptor, generation, 0, {0}};
    watch(free);
}

static void close_connection(struct endpoint *endpoint) {
    close(endpoint->descriptor);
    endpoint->descriptor = -1;
    endpoint->generation++;
}

// The kernel answers with RST if the connection is closed without lingering.
static void reset_connection(struct endpoint *endpoint) {
    struct linger linger = {.l_onoff = 1, .l_linger = 0};
    if (setsockopt(endpoint->descriptor, SOL_SOCKET, SO_LINGER, &linger, sizeof linger) < 0) fail("SO_LINGER");
    close_connection(endpoint);
}

// MARK: requests

// Counts a request and queues its reply, if there is to be one.
static void take(struct endpoint *from, const char *text, size_t bytes, const struct sockaddr_in *peer) {
    int64_t now = wall_nanoseconds();
    int isSecond = from->kind == secondDNS;
    unsigned names = from->kind == connection ? http_names(text, bytes) : 1;
    if (now >= begin) {
        struct counts *counts = &(isSecond ? second : primary)[from->server][is_outage(now)];
        counts->requests++;
        counts->names += names;
    }
    enum fate fate = fate_of(from, now);
    if (fate == reset) reset_connection(from);
    if (fate == reset || fate == dropped) return;
    struct queue *queue = isSecond ? &secondQueue : fate == answeredLate ? &slowQueue : &primaryQueue;
    if (queue->added - queue->taken == maxWaiting) {
        errno = ENOBUFS;
        fail("requests on their way");
    }
    struct request *request = &queue->ring[queue->added++ % maxWaiting];
    request->due = now + queue->delay;
    request->fate = fate;
    request->from = from;
    request->generation = from->generation;
    request->bytes = bytes;
    memcpy(request->text, text, bytes);
    if (peer != NULL) request->peer = *peer;
}

static void read_datagrams(struct endpoint *endpoint) {
    char text[maxRequestBytes];
    for (unsigned turn = 0; turn < maxDatagramsInTurn; turn++) {
        struct sockaddr_in peer;
        socklen_t peerBytes = sizeof peer;
        ssize_t bytes = recvfrom(endpoint->descriptor, text, sizeof text, 0, (struct sockaddr *)&peer, &peerBytes);
        if (bytes < 0) return;
        take(endpoint, text, (size_t)bytes, &peer);
    }
}

static void read_connection(struct endpoint *endpoint) {
    char *end;
    ssize_t count = recv(endpoint->descriptor, endpoint->text + endpoint->bytes, maxRequestBytes - endpoint->bytes, 0);
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) { // also when a request fills the whole buffer: none of ours is that long
        close_connection(endpoint);
        return;
    }
    endpoint->bytes += (size_t)count;
    while ((end = memmem(endpoint->text, endpoint->bytes, "\r\n\r\n", 4)) != NULL) {
        size_t bytes = (size_t)(end - endpoint->text) + 4;
        take(endpoint, endpoint->text, bytes, NULL);
        if (endpoint->descriptor < 0) return;
        endpoint->bytes -= bytes;
        memmove(endpoint->text, endpoint->text + bytes, endpoint->bytes);
    }
}

// MARK: replies

static void answer(const struct request *request) {
    char reply[maxReplyBytes];
    struct endpoint *from = request->from;
    uint32_t issued = (uint32_t)((wall_nanoseconds() - begin) / 1000000) & 0xFFFFFF;
    if (from->kind == connection) {
        if (from->generation != request->generation) return;
        size_t bytes = request->fate == failed    ? http_refusal("502 Bad Gateway", reply)
                       : request->fate == refused ? http_refusal("429 Too Many Requests", reply)
                                                  : http_reply(request->text, request->bytes, issued, reply);
        ssize_t sent = send(from->descriptor, reply, bytes, MSG_NOSIGNAL);
        if (sent != (ssize_t)bytes) close_connection(from);
        return;
    }
    const unsigned char *query = (const unsigned char *)request->text;
    unsigned char *message = (unsigned char *)reply;
    size_t bytes = request->fate == failed    ? dns_refusal(query, request->bytes, codeServerFailure, message)
                   : request->fate == refused ? dns_refusal(query, request->bytes, codeRefused, message)
                                              : dns_reply(query, request->bytes, issued, message);
    sendto(from->descriptor, reply, bytes, MSG_NOSIGNAL, (const struct sockaddr *)&request->peer,
           sizeof request->peer); // lost when it can't be sent, as on a real network
}

static void answer_due(struct queue *queue, int64_t now) {
    while (queue->taken < queue->added && queue->ring[queue->taken % maxWaiting].due <= now) {
        const struct request *request = &queue->ring[queue->taken++ % maxWaiting];
        if (fate_of(request->from, now) != dropped) answer(request);
    }
}

static int64_t next_due(int64_t now) {
    int64_t due = now + 1000000000;
    for (unsigned index = 0; index < sizeof queues / sizeof *queues; index++) {
        const struct queue *queue = queues[index];
        if (queue->taken == queue->added) continue;
        int64_t first = queue->ring[queue->taken % maxWaiting].due;
        if (first < due) due = first;
    }
    return due;
}

// MARK: the loop

static void report(unsigned servers) {
    for (unsigned server = 0; server < servers; server++) {
        const struct counts *own = primary[server], *other = second[server];
        printf("%lu %lu %lu %lu %lu %lu\n", own[0].requests + own[1].requests, own[0].names + own[1].names,
               own[1].requests, own[1].names, other[0].requests + other[1].requests, other[1].requests);
    }
}

// Returns 0 when it is time to end.
static int handle(struct endpoint *endpoint) {
    switch (endpoint->kind) {
    case primaryDNS:
    case secondDNS: read_datagrams(endpoint); return 1;
    case primaryHTTP: accept_connection(endpoint); return 1;
    case connection:
        if (endpoint->descriptor >= 0) read_connection(endpoint);
        return 1;
    case termination: return 0;
    }
    return 0;
}

int main(int argc, char **argv) {
    if (argc != 6 || atoi(argv[1]) < 1 || atoi(argv[1]) > maxServers) {
        fprintf(stderr, "usage: replay-upstream SERVERS BEGIN FROM TO OUTAGE\n");
        return 3;
    }
    begin = nanoseconds_of(argv[2]);
    outageBegin = begin + nanoseconds_of(argv[3]);
    outageEnd = begin + nanoseconds_of(argv[4]);
    outage = argv[5];
    poller = epoll_create1(EPOLL_CLOEXEC);
    if (poller < 0) fail("epoll_create1");
    for (unsigned place = 0; place < maxConnections; place++) connections[place].descriptor = -1;
    watch_termination();
    open_listeners((unsigned)atoi(argv[1]));
    for (;;) {
        int64_t now = wall_nanoseconds(), wait = next_due(now) - now;
        if (wait < 0) wait = 0;
        struct timespec timeout = {wait / 1000000000, wait % 1000000000};
        struct epoll_event events[maxEvents];
        int count = epoll_pwait2(poller, events, maxEvents, &timeout, NULL);
        for (int index = 0; index < count; index++) {
            if (handle(events[index].data.ptr)) continue;
            report((unsigned)atoi(argv[1]));
            return 0;
        }
        now = wall_nanoseconds();
        for (unsigned index = 0; index < sizeof queues / sizeof *queues; index++) answer_due(queues[index], now);
    }
}
