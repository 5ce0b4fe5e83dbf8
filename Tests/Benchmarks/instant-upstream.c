// The upstream of `scripts/bench memory`, `start` and `growth`: DNS over UDP, and HTTP/1.1 with the dialects `json` and
// `dnspod-https`, both answered at once. Every name exists and has one A record that is another one each time and
// outlives the benchmark.
//
//     instant-upstream [ADDRESSES]
//     instant-upstream --hold COUNT
//
// With a number of ADDRESSES, at most 250, it takes turns among 127.9.1.1, 127.9.2.1 and so on, where servers may be.
// With --hold, COUNT replies by DNS wait all the time: each further query sends the oldest of them. They are all sent
// when no query has come for `restMilliseconds`.
// Prints its two ports, DNS and HTTP, and at SIGTERM how many datagrams and how many HTTP requests it answered.
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
    lifetimeSeconds = 3600,
    maxConnections = 64, // one server at a time, which opens eight
    maxEvents = 64,
    maxAddresses = 250, // one in each /24
    maxHeld = 1024,
    restMilliseconds = 100,
};

enum kind { datagrams, listener, connection, termination };

struct endpoint {
    enum kind kind;
    int descriptor;
    size_t bytes; // of a connection: what `text` holds of its next request
    char text[maxRequestBytes];
};

struct held {
    struct sockaddr_in peer;
    size_t bytes;
    unsigned char reply[maxReplyBytes];
};

static struct endpoint connections[maxConnections];
static struct held held[maxHeld]; // a ring: the oldest at `firstHeld`
static unsigned firstHeld, heldCount, holds;
static uint64_t answeredDatagrams, answeredRequests;
static int poller;
static unsigned addresses; // 0: another one each time

static void fail(const char *what) {
    fprintf(stderr, "instant-upstream: %s: %s\n", what, strerror(errno));
    exit(1);
}

unsigned answer_lifetime(const char *name) {
    (void)name;
    return lifetimeSeconds;
}

uint32_t answer_address(uint32_t issued) {
    if (addresses == 0) return (uint32_t)addressBlock << 24 | issued;
    return 127u << 24 | 9u << 16 | (issued % addresses + 1) << 8 | 1;
}

static uint32_t next_address(void) { return (uint32_t)(answeredDatagrams + answeredRequests) & 0xFFFFFF; }

// MARK: sockets

static void watch(struct endpoint *endpoint) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = endpoint};
    if (epoll_ctl(poller, EPOLL_CTL_ADD, endpoint->descriptor, &event) < 0) fail("epoll_ctl");
}

// Returns the port that the kernel chose.
static unsigned listen_on_loopback(struct endpoint *endpoint, int type) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof address;
    endpoint->descriptor = socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (endpoint->descriptor < 0) fail("socket");
    if (bind(endpoint->descriptor, (struct sockaddr *)&address, bytes) < 0) fail("bind");
    if (type == SOCK_STREAM && listen(endpoint->descriptor, SOMAXCONN) < 0) fail("listen");
    if (getsockname(endpoint->descriptor, (struct sockaddr *)&address, &bytes) < 0) fail("getsockname");
    watch(endpoint);
    return ntohs(address.sin_port);
}

static void watch_termination(struct endpoint *signals) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signals->descriptor = signalfd(-1, &set, SFD_CLOEXEC);
    if (signals->descriptor < 0) fail("signalfd");
    watch(signals);
}

static void accept_connection(const struct endpoint *from) {
    int descriptor = accept4(from->descriptor, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (descriptor < 0) return;
    struct endpoint *free = connections;
    while (free < connections + maxConnections && free->descriptor >= 0) free++;
    if (free == connections + maxConnections) {
        errno = EMFILE;
        fail("connections");
    }
    free->kind = connection;
    free->descriptor = descriptor;
    free->bytes = 0;
    watch(free);
}

static void close_connection(struct endpoint *endpoint) {
    close(endpoint->descriptor);
    endpoint->descriptor = -1;
}

// MARK: requests

static void send_oldest(const struct endpoint *from) {
    const struct held *oldest = &held[firstHeld];
    // Lost when it can't be sent, as on a real network.
    sendto(from->descriptor, oldest->reply, oldest->bytes, MSG_NOSIGNAL, (const struct sockaddr *)&oldest->peer,
           sizeof oldest->peer);
    firstHeld = (firstHeld + 1) % maxHeld;
    heldCount--;
    answeredDatagrams++;
}

static void answer_datagrams(const struct endpoint *from) {
    for (;;) {
        unsigned char query[maxRequestBytes];
        struct held *newest = &held[(firstHeld + heldCount) % maxHeld];
        socklen_t peerBytes = sizeof newest->peer;
        struct sockaddr *peer = (struct sockaddr *)&newest->peer;
        ssize_t bytes = recvfrom(from->descriptor, query, sizeof query, 0, peer, &peerBytes);
        if (bytes < 0) return;
        newest->bytes = dns_reply(query, (size_t)bytes, next_address(), newest->reply);
        if (newest->bytes == 0) continue;
        heldCount++;
        if (heldCount > holds) send_oldest(from);
    }
}

static int answer_request(const struct endpoint *from, size_t bytes) {
    char reply[maxReplyBytes];
    size_t length = http_reply(from->text, bytes, next_address(), reply);
    answeredRequests++;
    return send(from->descriptor, reply, length, MSG_NOSIGNAL) == (ssize_t)length;
}

static void read_connection(struct endpoint *from) {
    char *end;
    if (from->descriptor < 0) return;
    ssize_t count = recv(from->descriptor, from->text + from->bytes, maxRequestBytes - from->bytes, 0);
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) { // also when a request fills the whole buffer: none of ours is that long
        close_connection(from);
        return;
    }
    from->bytes += (size_t)count;
    while ((end = memmem(from->text, from->bytes, "\r\n\r\n", 4)) != NULL) {
        size_t bytes = (size_t)(end - from->text) + 4;
        if (!answer_request(from, bytes)) {
            close_connection(from);
            return;
        }
        from->bytes -= bytes;
        memmove(from->text, from->text + bytes, from->bytes);
    }
}

int main(int count, char **arguments) {
    int isHolding = count == 3 && strcmp(arguments[1], "--hold") == 0;
    if (isHolding) holds = (unsigned)atoi(arguments[2]);
    else if (count > 1) addresses = (unsigned)atoi(arguments[1]);
    if (count > (isHolding ? 3 : 2) || addresses > maxAddresses || holds >= maxHeld) {
        errno = EINVAL;
        fail("usage: instant-upstream [ADDRESSES|--hold COUNT]");
    }
    static struct endpoint dns = {.kind = datagrams}, http = {.kind = listener}, signals = {.kind = termination};
    poller = epoll_create1(EPOLL_CLOEXEC);
    if (poller < 0) fail("epoll_create1");
    for (unsigned place = 0; place < maxConnections; place++) connections[place].descriptor = -1;
    watch_termination(&signals);
    unsigned dnsPort = listen_on_loopback(&dns, SOCK_DGRAM);
    printf("%u %u\n", dnsPort, listen_on_loopback(&http, SOCK_STREAM));
    fflush(stdout);
    for (;;) {
        struct epoll_event events[maxEvents];
        int ready = epoll_wait(poller, events, maxEvents, heldCount > 0 ? restMilliseconds : -1);
        while (ready == 0 && heldCount > 0) send_oldest(&dns);
        for (int index = 0; index < ready; index++) {
            struct endpoint *endpoint = events[index].data.ptr;
            switch (endpoint->kind) {
            case datagrams: answer_datagrams(endpoint); break;
            case listener: accept_connection(endpoint); break;
            case connection: read_connection(endpoint); break;
            case termination:
                printf("%lu %lu\n", answeredDatagrams, answeredRequests);
                return 0;
            }
        }
    }
}
