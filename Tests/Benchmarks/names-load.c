// The load of `scripts/bench memory` and `growth`: distinct names, each asked until it is answered, as fast as the
// server takes them with a bounded number outstanding. Meanwhile it watches the anonymous memory of the server.
//
//     names-load PORT FIRST COUNT PID [OUTSTANDING]
//
// With OUTSTANDING, the names are of many domains, and each socket has another address of loopback: the shares of a
// domain and of a client do not bound the number of lookups.
//
// Asks for the names FIRST up to FIRST + COUNT - 1 (names.h). Prints a line after each tenth of them
//
//     answered seconds anonymous_kB
//
// and a last one:
//
//     answered failed retried seconds peak_kB end_kB
//
// A name has failed when the server says so or is silent `maxTries` times. A server that answers nothing at all for
// `giveUpSeconds` ends it with 1.
#define _GNU_SOURCE
#include "names.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    clients = 8, // sockets, as different clients have
    maxWindow = 128,
    domains = 64, // more than the shares of a table
    maxReplyBytes = 1232,
    maxTries = 4,
    patienceMilliseconds = 1500,
    giveUpSeconds = 10,
    sampleMilliseconds = 20,
    parts = 10,
};

struct place {
    int isTaken;
    unsigned tries;
    uint16_t id; // the place is the id modulo `window`
    int64_t sentAt;
    struct name_query query;
};

struct client {
    int descriptor;
    struct place places[maxWindow];
};

static struct client all[clients];
static unsigned next, end;
static unsigned window = 16; // outstanding on each: 128 in all, half of the requests that httpdnsd has out at most
static int haveOwnAddresses;
static unsigned long answered, failed, retried;
static const char *pid;
static long peakKB;

static void fail(const char *what, const char *detail) {
    fprintf(stderr, "names-load: %s: %s\n", what, detail);
    exit(1);
}

static int64_t milliseconds(void) {
    struct timespec now;
    if (clock_gettime(CLOCK_MONOTONIC, &now) < 0) fail("clock_gettime", strerror(errno));
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static long anonymous_kB(void) {
    char path[64], line[128];
    long kB = -1;
    snprintf(path, sizeof path, "/proc/%s/status", pid);
    FILE *file = fopen(path, "re");
    if (file == NULL) fail("the server has ended", path);
    while (kB < 0 && fgets(line, sizeof line, file) != NULL) sscanf(line, "RssAnon: %ld", &kB);
    fclose(file);
    if (kB < 0) fail("the server has ended", path);
    if (kB > peakKB) peakKB = kB;
    return kB;
}

static void bind_to_own_address(const struct client *client) {
    struct sockaddr_in own = {
        .sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1 + (uint32_t)(client - all)),
    };
    if (bind(client->descriptor, (struct sockaddr *)&own, sizeof own) < 0) fail("bind", strerror(errno));
}

static void connect_clients(const char *port) {
    struct sockaddr_in server = {
        .sin_family = AF_INET,
        .sin_port = htons((unsigned short)atoi(port)),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    for (struct client *client = all; client < all + clients; client++) {
        client->descriptor = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (client->descriptor < 0) fail("socket", strerror(errno));
        if (haveOwnAddresses) bind_to_own_address(client);
        if (connect(client->descriptor, (struct sockaddr *)&server, sizeof server) < 0) {
            fail("connect", strerror(errno));
        }
        for (unsigned place = 0; place < window; place++) client->places[place].id = (uint16_t)place;
    }
}

// MARK: asking

// One that can't be sent is found missing later.
static void ask(const struct client *client, struct place *place, int64_t now) {
    place->tries++;
    place->sentAt = now;
    send(client->descriptor, place->query.packet, place->query.bytes, MSG_NOSIGNAL);
}

static void begin(const struct client *client, struct place *place, int64_t now) {
    place->isTaken = 1;
    place->tries = 0;
    place->id = (uint16_t)(place->id + window); // a late reply to the last one is known as such
    write_name_query(&place->query, place->id, next++);
    ask(client, place, now);
}

static unsigned take_replies(struct client *client, int64_t now) {
    unsigned char reply[maxReplyBytes];
    unsigned count = 0;
    ssize_t bytes;
    while ((bytes = recv(client->descriptor, reply, sizeof reply, 0)) >= 12) {
        uint16_t id = (uint16_t)(reply[0] << 8 | reply[1]);
        struct place *place = &client->places[id % window];
        if (!place->isTaken || place->id != id) continue;
        *(is_good_reply(reply, (size_t)bytes, &place->query) ? &answered : &failed) += 1;
        place->isTaken = 0;
        count++;
        if (next < end) begin(client, place, now);
    }
    return count; // errors come from ICMP: no listener yet
}

static void look_for_missing(int64_t now) {
    for (struct client *client = all; client < all + clients; client++) {
        for (struct place *place = client->places; place < client->places + window; place++) {
            if (!place->isTaken || now - place->sentAt < patienceMilliseconds) continue;
            if (place->tries < maxTries) {
                retried++;
                ask(client, place, now);
            } else {
                failed++;
                place->isTaken = 0;
                if (next < end) begin(client, place, now);
            }
        }
    }
}

static void wait_for_replies(void) {
    struct pollfd waits[clients];
    for (unsigned index = 0; index < clients; index++) {
        waits[index] = (struct pollfd){.fd = all[index].descriptor, .events = POLLIN};
    }
    poll(waits, clients, sampleMilliseconds);
}

static void show_progress(unsigned long count) {
    static int isTerminal = -1;
    if (isTerminal < 0) isTerminal = isatty(STDERR_FILENO);
    if (isTerminal) fprintf(stderr, "\r\033[K%lu of %lu names ...", answered + failed, count);
}

static void run(unsigned long count) {
    int64_t began = milliseconds(), heardAt = began, sampledAt = began;
    unsigned part = 1;
    for (struct client *client = all; client < all + clients; client++) {
        for (unsigned place = 0; place < window && next < end; place++) begin(client, &client->places[place], began);
    }
    while (answered + failed < count) {
        wait_for_replies();
        int64_t now = milliseconds();
        for (struct client *client = all; client < all + clients; client++) {
            if (take_replies(client, now) > 0) heardAt = now;
        }
        if (now - sampledAt >= sampleMilliseconds) {
            sampledAt = now;
            anonymous_kB();
            look_for_missing(now);
            show_progress(count);
        }
        while (part < parts && (answered + failed) * parts >= count * part) {
            printf("%lu %.1f %ld\n", answered, (double)(now - began) / 1000, anonymous_kB());
            fflush(stdout);
            part++;
        }
        if (now - heardAt > giveUpSeconds * 1000) fail("server", "no replies");
    }
    double seconds = (double)(milliseconds() - began) / 1000;
    long endKB = anonymous_kB();
    printf("%lu %lu %lu %.1f %ld %ld\n", answered, failed, retried, seconds, peakKB, endKB);
}

int main(int argc, char **argv) {
    long outstanding = argc == 6 ? atol(argv[5]) : clients * window;
    if (argc < 5 || argc > 6 || atol(argv[3]) < 1 || atol(argv[2]) + atol(argv[3]) - 1 > maxNameNumber
        || outstanding < clients || outstanding > clients * maxWindow) {
        fprintf(stderr, "usage: names-load PORT FIRST COUNT PID [OUTSTANDING]\n");
        return 3;
    }
    window = (unsigned)outstanding / clients;
    if (argc == 6) {
        nameDomains = domains;
        haveOwnAddresses = 1;
    }
    next = (unsigned)atol(argv[2]);
    end = next + (unsigned)atol(argv[3]);
    pid = argv[4];
    connect_clients(argv[1]);
    run((unsigned long)atol(argv[3]));
    return 0;
}
