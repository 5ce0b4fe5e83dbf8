// The load of `scripts/bench choice` and `probe`: distinct names at a fixed rate, each asked once.
//
//     choice-load PORT RATE SECONDS [FIRST]
//
// Asks for the names from number FIRST on (names.h), or from 0. Prints "begun" when it begins, and at the end a line
// for each query
//
//     sent_ms waited_ms
//
// with -1 for a query that had no good answer `giveUpSeconds` after the last one. When a query is late, because other
// work had the core, its time counts from when it was sent.
#define _GNU_SOURCE
#include "names.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { maxQueries = 60000, maxReplyBytes = 1232, giveUpSeconds = 5 };

static int64_t sentAt[maxQueries], answeredAt[maxQueries];
static int descriptor;
static unsigned sent, answered, first;

static void fail(const char *what, const char *detail) {
    fprintf(stderr, "choice-load: %s: %s\n", what, detail);
    exit(1);
}

static int64_t microseconds(void) {
    struct timespec now;
    if (clock_gettime(CLOCK_MONOTONIC, &now) < 0) fail("clock_gettime", strerror(errno));
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void ask(void) {
    struct name_query query;
    write_name_query(&query, (uint16_t)sent, first + sent);
    sentAt[sent] = microseconds();
    if (send(descriptor, query.packet, query.bytes, 0) < 0) fail("send", strerror(errno));
    sent++;
}

static void take_replies(void) {
    unsigned char reply[maxReplyBytes];
    ssize_t bytes;
    while ((bytes = recv(descriptor, reply, sizeof reply, MSG_DONTWAIT)) > 12) {
        unsigned number = (unsigned)reply[0] << 8 | reply[1];
        struct name_query query;
        if (number >= sent || answeredAt[number] != 0) continue;
        write_name_query(&query, (uint16_t)number, first + number);
        if (!is_good_reply(reply, (size_t)bytes, &query)) continue;
        answeredAt[number] = microseconds();
        answered++;
    }
}

static unsigned number(const char *text, unsigned most) {
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    if (*text == 0 || *end != 0 || value == 0 || value > most) fail("not a usable number", text);
    return (unsigned)value;
}

int main(int count, char **arguments) {
    if (count != 4 && count != 5) fail("usage", "choice-load PORT RATE SECONDS [FIRST]");
    if (count == 5) first = number(arguments[4], maxNameNumber - maxQueries);
    unsigned rate = number(arguments[2], 1000), total = rate * number(arguments[3], maxQueries / 1000);
    struct sockaddr_in server = {.sin_family = AF_INET, .sin_port = htons((uint16_t)number(arguments[1], 65535))};
    server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    descriptor = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0 || connect(descriptor, (struct sockaddr *)&server, sizeof server) < 0)
        fail("socket", strerror(errno));
    int64_t begin = microseconds();
    printf("begun\n");
    fflush(stdout);
    int64_t end = begin + (int64_t)total * 1000000 / rate + giveUpSeconds * 1000000;
    for (int64_t now = begin; now < end && answered < total; now = microseconds()) {
        int64_t due = sent < total ? begin + (int64_t)sent * 1000000 / rate : end;
        if (due <= now) {
            ask();
            continue;
        }
        struct pollfd poll_one = {.fd = descriptor, .events = POLLIN};
        struct timespec wait = {.tv_sec = (due - now) / 1000000, .tv_nsec = (due - now) % 1000000 * 1000};
        if (ppoll(&poll_one, 1, &wait, NULL) < 0 && errno != EINTR) fail("ppoll", strerror(errno));
        take_replies();
    }
    for (unsigned i = 0; i < total; i++)
        printf("%.1f %.1f\n", (double)(sentAt[i] - begin) / 1000,
               answeredAt[i] == 0 ? -1.0 : (double)(answeredAt[i] - sentAt[i]) / 1000);
    return 0;
}
