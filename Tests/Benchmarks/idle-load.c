// The load of `scripts/bench growth` for TCP: idle connections, and one that asks for a cached name again and again.
//
//     idle-load PORT IDLE QUERIES PID
//
// Opens IDLE connections, which ask nothing, and then the one that asks: QUERIES queries for name 0 (names.h), one
// after the other. Prints one line:
//
//     answered open cpu_ns
//
// `open` counts the idle connections that the server has not closed by the end; `cpu_ns` is what its process took
// while the queries were asked. A wrong reply, or none for `patienceSeconds`, ends it with 1.
#define _GNU_SOURCE
#include "names.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    maxIdle = 20000,
    patienceSeconds = 5,
    lengthBytes = 2,
    maxReplyBytes = lengthBytes + 1232,
    unmeasured = 100, // queries before the first that counts: the name's answer is then in the cache
    spareDescriptors = 16,
};

static int idle[maxIdle];
static struct sockaddr_in server = {.sin_family = AF_INET};

static void fail(const char *what) {
    fprintf(stderr, "idle-load: %s: %s\n", what, strerror(errno));
    exit(1);
}

static uint64_t nanoseconds(clockid_t clock) {
    struct timespec now;
    if (clock_gettime(clock, &now) < 0) fail("clock_gettime");
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void raise_descriptor_limit(unsigned count) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0) fail("getrlimit");
    limit.rlim_cur = limit.rlim_max;
    errno = EMFILE;
    if (limit.rlim_max < count + spareDescriptors) fail("RLIMIT_NOFILE");
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0) fail("RLIMIT_NOFILE");
}

static int open_connection(void) {
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const struct timeval patience = {.tv_sec = patienceSeconds};
    if (descriptor < 0) fail("socket");
    if (setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) < 0) fail("SO_RCVTIMEO");
    if (connect(descriptor, (struct sockaddr *)&server, sizeof server) < 0) fail("connect");
    return descriptor;
}

static void ask(int descriptor, uint16_t id) {
    struct name_query query;
    unsigned char message[lengthBytes + maxNameQueryBytes], reply[maxReplyBytes];
    write_name_query(&query, id, 0);
    message[0] = 0;
    message[1] = (unsigned char)query.bytes;
    memcpy(message + lengthBytes, query.packet, query.bytes);
    size_t bytes = lengthBytes + query.bytes, arrived = 0, wanted = lengthBytes;
    if (send(descriptor, message, bytes, MSG_NOSIGNAL) != (ssize_t)bytes) fail("send");
    while (arrived < wanted) {
        ssize_t count = recv(descriptor, reply + arrived, sizeof reply - arrived, 0);
        if (count <= 0) fail("no reply");
        arrived += (size_t)count;
        if (arrived >= lengthBytes) wanted = lengthBytes + (size_t)(reply[0] << 8 | reply[1]);
    }
    errno = 0;
    if (memcmp(reply + lengthBytes, query.packet, 2) != 0
        || !is_good_reply(reply + lengthBytes, arrived - lengthBytes, &query)) {
        fail("wrong reply");
    }
}

int main(int argc, char **argv) {
    unsigned count = argc == 5 ? (unsigned)atoi(argv[2]) : maxIdle + 1;
    unsigned long queries = argc == 5 ? strtoul(argv[3], NULL, 10) : 0;
    clockid_t clock;
    if (count > maxIdle || queries == 0) {
        fprintf(stderr, "usage: idle-load PORT IDLE QUERIES PID\n");
        return 3;
    }
    server.sin_port = htons((uint16_t)atoi(argv[1]));
    server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (clock_getcpuclockid(atoi(argv[4]), &clock) != 0) fail("no such process");
    raise_descriptor_limit(count);
    for (unsigned index = 0; index < count; index++) idle[index] = open_connection();
    int active = open_connection();
    for (unsigned long number = 0; number < unmeasured; number++) ask(active, (uint16_t)number);
    uint64_t before = nanoseconds(clock);
    for (unsigned long number = 0; number < queries; number++) ask(active, (uint16_t)number);
    uint64_t after = nanoseconds(clock);
    unsigned open = 0;
    for (unsigned index = 0; index < count; index++) {
        char byte;
        open += recv(idle[index], &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
    }
    printf("%lu %u %llu\n", queries, open, (unsigned long long)(after - before));
    return 0;
}
