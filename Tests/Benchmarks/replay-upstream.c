// The upstreams of `scripts/bench replay`: for each server a primary (DNS over UDP, and HTTP/1.1 with the dialects
// `json` and `dnspod-https`) that answers after 30 ms, and a second resolver (DNS over UDP) that answers after 120 ms.
// Every name exists and has one address, which tells when it was issued (replay.h).
//
//     replay-upstream SERVERS BEGIN FROM TO
//
// BEGIN is a time (Unix, seconds), FROM and TO are seconds after it: in between every primary is dead in the worst way.
// It takes requests, connections stay open, and nothing ever comes back. The second resolvers live on.
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
    secondDelayMilliseconds = 120,
    maxWaiting = 8192,    // requests on their way: 16 servers that each ask 150 times a second need 300
    maxConnections = 512, // 32 for each server
    maxDatagramsInTurn = 64,
    maxEvents = 64,
};

enum kind { primaryDNS, primaryHTTP, secondDNS, connection, termination };

struct endpoint {
    enum kind kind;
    unsigned server;
    int descriptor;
    uint64_t generation; // of a connection: requests of an earlier one in the same place find it changed
    size_t bytes;        // of a connection: what `text` holds of its next request
    char text[maxRequestBytes];
};

struct request {
    int64_t due;
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
static struct queue secondQueue = {.delay = secondDelayMilliseconds * 1000000ll};
static struct endpoint listeners[maxServers][3], connections[maxConnections], signals;
static struct counts primary[maxServers][2], second[maxServers][2]; // outside and inside the outage
static int64_t begin, outageBegin, outageEnd;
static int poller;

static void fail(const char *what) {
    fprintf(stderr, "replay-upstream: %s: %s\n", what, strerror(errno));
    exit(1);
}

unsigned answer_lifetime(const char *name) { return lifetime_seconds(name); }

uint32_t answer_address(uint32_t issued) { return (uint32_t)addressBlock << 24 | issued; }

static int is_outage(int64_t now) { return now >= outageBegin && now < outageEnd; }

// MARK: sockets

static void watch(struct endpoint *endpoint) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = endpoint};
    if (epoll_ctl(poller, EPOLL_CTL_ADD, endpoint->descriptor, &event) < 0) fail("epoll_ctl");
}

// Returns the port that the kernel chose.
static unsigned listen_on_loopback(struct endpoint *endpoint, enum kind kind, unsigned server) {
    int type = kind == primaryHTTP ? SOCK_STREAM : SOCK_DGRAM;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof address;
    *endpoint = (struct endpoint){.kind = kind, .server = server};
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
        unsigned dns = listen_on_loopback(&listeners[server][0], primaryDNS, server);
        unsigned http = listen_on_loopback(&listeners[server][1], primaryHTTP, server);
        printf("%u %u %u\n", dns, http, listen_on_loopback(&listeners[server][2], secondDNS, server));
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
    *free = (struct endpoint){connection, listener->server, descriptor, generation, 0, {0}};
    watch(free);
}

static void close_connection(struct endpoint *endpoint) {
    close(endpoint->descriptor);
    endpoint->descriptor = -1;
    endpoint->generation++;
}

// MARK: requests

// Counts a request and queues its reply. During an outage the primary drops requests.
static void take(struct endpoint *from, const char *text, size_t bytes, const struct sockaddr_in *peer) {
    int64_t now = wall_nanoseconds();
    int isSecond = from->kind == secondDNS;
    unsigned names = from->kind == connection ? http_names(text, bytes) : 1;
    if (now >= begin) {
        struct counts *counts = &(isSecond ? second : primary)[from->server][is_outage(now)];
        counts->requests++;
        counts->names += names;
    }
    if (!isSecond && is_outage(now)) return;
    struct queue *queue = isSecond ? &secondQueue : &primaryQueue;
    if (queue->added - queue->taken == maxWaiting) {
        errno = ENOBUFS;
        fail("requests on their way");
    }
    struct request *request = &queue->ring[queue->added++ % maxWaiting];
    request->due = now + queue->delay;
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
        size_t bytes = http_reply(request->text, request->bytes, issued, reply);
        ssize_t sent = send(from->descriptor, reply, bytes, MSG_NOSIGNAL);
        if (sent != (ssize_t)bytes) close_connection(from);
        return;
    }
    size_t bytes = dns_reply((const unsigned char *)request->text, request->bytes, issued, (unsigned char *)reply);
    sendto(from->descriptor, reply, bytes, MSG_NOSIGNAL, (const struct sockaddr *)&request->peer,
           sizeof request->peer); // lost when it can't be sent, as on a real network
}

static void answer_due(struct queue *queue, int64_t now) {
    while (queue->taken < queue->added && queue->ring[queue->taken % maxWaiting].due <= now) {
        const struct request *request = &queue->ring[queue->taken++ % maxWaiting];
        if (queue == &secondQueue || !is_outage(now)) answer(request);
    }
}

static int64_t next_due(int64_t now) {
    int64_t due = now + 1000000000;
    const struct queue *queues[] = {&primaryQueue, &secondQueue};
    for (unsigned index = 0; index < 2; index++) {
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
    if (argc != 5 || atoi(argv[1]) < 1 || atoi(argv[1]) > maxServers) {
        fprintf(stderr, "usage: replay-upstream SERVERS BEGIN FROM TO\n");
        return 3;
    }
    begin = nanoseconds_of(argv[2]);
    outageBegin = begin + nanoseconds_of(argv[3]);
    outageEnd = begin + nanoseconds_of(argv[4]);
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
        answer_due(&primaryQueue, now);
        answer_due(&secondQueue, now);
    }
}
