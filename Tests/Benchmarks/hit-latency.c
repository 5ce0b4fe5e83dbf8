// How long single cached queries take: one after the other from one socket, so that each finds a server at rest, at a
// fixed pace. Started by `scripts/bench scrape`.
//
//     hit-latency PORT NAME SECONDS QUERIES_PER_SECOND
//
// It prints one line, in nanoseconds but for the counts:
//
//     answered lost p50 p99 p999
//
// A reply that does not come within a second is lost.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    maxQueryBytes = 300,
    maxReplyBytes = 1232,
    headerBytes = 12,
    replyMilliseconds = 1000,
    maxQueries = 10 * 1000 * 1000,
    spinNanoseconds = 50000, // a sleeper wakes up that late, and not always at once
};

static void fail(const char *what) {
    fprintf(stderr, "hit-latency: %s: %s\n", what, errno ? strerror(errno) : "not as expected");
    exit(1);
}

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

// An A query with recursion desired; its size.
static size_t write_query(unsigned char *packet, const char *name) {
    memset(packet, 0, headerBytes);
    packet[2] = 1;
    packet[5] = 1;
    size_t at = headerBytes;
    while (*name) {
        size_t label = strcspn(name, ".");
        if (label == 0 || label > 63 || at + label + 6 > maxQueryBytes) fail("the name");
        packet[at++] = (unsigned char)label;
        memcpy(packet + at, name, label);
        at += label;
        name += label + (name[label] == '.');
    }
    const unsigned char end[] = {0, 0, 1, 0, 1};
    memcpy(packet + at, end, sizeof end);
    return at + sizeof end;
}

// Sleeps most of the time, so that others have their turn, and is wide awake at the end.
static void wait_until(uint64_t due) {
    const uint64_t early = due - spinNanoseconds;
    if (now() < early) {
        const struct timespec time = {.tv_sec = (time_t)(early / 1000000000), .tv_nsec = (long)(early % 1000000000)};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
    }
    while (now() < due) continue;
}

// False when it is lost. Replies to earlier queries are passed over.
static int ask(int descriptor, unsigned char *query, size_t bytes, uint16_t id) {
    unsigned char reply[maxReplyBytes];
    query[0] = (unsigned char)(id >> 8);
    query[1] = (unsigned char)id;
    if (send(descriptor, query, bytes, 0) < 0) fail("send");
    for (;;) {
        ssize_t count = recv(descriptor, reply, sizeof reply, 0);
        if (count < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
        if (count < 0) fail("recv");
        if (count < headerBytes || reply[0] != query[0] || reply[1] != query[1]) continue;
        errno = 0;
        if (!(reply[2] & 0x80) || (reply[3] & 15) || !(reply[6] | reply[7])) fail("a reply without an answer");
        return 1;
    }
}

static int ascending(const void *one, const void *other) {
    uint64_t left = *(const uint64_t *)one, right = *(const uint64_t *)other;
    return (left > right) - (left < right);
}

int main(int count, char **arguments) {
    if (count != 5) {
        fprintf(stderr, "usage: hit-latency PORT NAME SECONDS QUERIES_PER_SECOND\n");
        return 3;
    }
    const double seconds = atof(arguments[3]), pace = atof(arguments[4]);
    const size_t wanted = (size_t)(seconds * pace);
    if (wanted == 0 || wanted > maxQueries) fail("the number of queries");
    uint64_t *times = calloc(wanted, sizeof *times);
    int descriptor = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in server = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(arguments[1]))};
    server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const struct timeval patience = {.tv_sec = replyMilliseconds / 1000};
    if (!times || descriptor < 0 || connect(descriptor, (struct sockaddr *)&server, sizeof server)
        || setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience))
        fail("the socket");

    unsigned char query[maxQueryBytes];
    const size_t bytes = write_query(query, arguments[2]);
    if (!ask(descriptor, query, bytes, 0)) fail("the first query");
    const uint64_t began = now(), step = (uint64_t)(1e9 / pace);
    size_t answered = 0, lost = 0;
    for (size_t number = 1; number <= wanted; number++) {
        wait_until(began + number * step);
        const uint64_t sent = now();
        if (ask(descriptor, query, bytes, (uint16_t)number)) times[answered++] = now() - sent;
        else lost++;
    }
    if (answered == 0) fail("no answers");
    qsort(times, answered, sizeof *times, ascending);
    printf("%zu %zu %lu %lu %lu\n", answered, lost, (unsigned long)times[answered / 2],
        (unsigned long)times[answered * 99 / 100], (unsigned long)times[answered * 999 / 1000]);
    return 0;
}
