// The load of `scripts/bench`: a fixed number of DNS queries from several sockets, each with a window of outstanding
// ones, so that the server always has work and never more than it can hold. Every reply is checked: id, QR, question,
// NOERROR and at least one answer. It then says what the server's process took, by the kernel's account.
//
//     query-load PORT NAMES QUERIES [--pid PID] [--echo]
//
// NAMES is a file with one domain name per line. First each name is asked until it is answered, unmeasured; then
// QUERIES queries, drawn evenly from the names with the same seed each time. With --pid the figures of that process
// follow; --echo expects queries back in place of answers. It prints one line:
//
//     answered lost seconds cpu_ns user_ticks system_ticks
//
// A wrong reply, or a server that answers nothing for `giveUpSeconds`, ends it with 1.
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
    clients = 8,          // sockets: different ports, as different clients have
    window = 16,          // outstanding queries of each; 128 in all fill four batches and fit every receive buffer
    maxNames = 4096,
    maxQueryBytes = 300,  // header, the longest name, type, class, OPT
    maxReplyBytes = 1232, // what the queries offer to take
    headerBytes = 12,
    spinNanoseconds = 2000000,
    lossMilliseconds = 500,
    giveUpSeconds = 10,
};

struct query {
    size_t bytes;
    size_t questionBytes;
    unsigned char packet[maxQueryBytes];
};

struct client {
    int descriptor;
    unsigned outstanding;
    const struct query *asked[window]; // NULL: the place is free
    uint16_t ids[window];              // the place is the id modulo `window`
};

struct usage {
    uint64_t nanoseconds;
    unsigned long userTicks, systemTicks;
};

static struct query queries[maxNames];
static unsigned names;
static struct client all[clients];
static int isEcho;
static uint64_t answered, lost, started;
static uint64_t randomState = 0x9E3779B97F4A7C15u;

static void fail(const char *what, const char *detail) {
    fprintf(stderr, "query-load: %s: %s\n", what, detail);
    exit(1);
}

static uint64_t nanoseconds(clockid_t clock) {
    struct timespec now;
    if (clock_gettime(clock, &now) < 0) fail("clock_gettime", strerror(errno));
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// xorshift64* (Vigna 2016)
static unsigned next_name(void) {
    randomState ^= randomState >> 12;
    randomState ^= randomState << 25;
    randomState ^= randomState >> 27;
    return (unsigned)((randomState * 0x2545F4914F6CDD1Du >> 32) * names >> 32);
}

// MARK: queries

static void build_query(struct query *query, char *name) {
    static const unsigned char header[headerBytes] = {0, 0, 0x01, 0, 0, 1, 0, 0, 0, 0, 0, 1};
    static const unsigned char end[] = {0, 0, 1, 0, 1};                                   // root, A, IN
    static const unsigned char option[] = {0, 0, 41, 0x04, 0xD0, 0, 0, 0, 0, 0, 0};       // 1232 bytes
    if (strlen(name) > 253) fail("name too long", name);
    unsigned char *at = query->packet;
    at = (unsigned char *)mempcpy(at, header, sizeof header);
    for (char *label = strtok(name, "."); label != NULL; label = strtok(NULL, ".")) {
        if (strlen(label) > 63) fail("label too long", label);
        *at++ = (unsigned char)strlen(label);
        at = (unsigned char *)mempcpy(at, label, strlen(label));
    }
    at = (unsigned char *)mempcpy(at, end, sizeof end);
    query->questionBytes = (size_t)(at - query->packet) - headerBytes;
    at = (unsigned char *)mempcpy(at, option, sizeof option);
    query->bytes = (size_t)(at - query->packet);
}

static void read_names(const char *path) {
    FILE *file = fopen(path, "re");
    if (file == NULL) fail(path, strerror(errno));
    char line[256];
    while (fgets(line, sizeof line, file) != NULL && names < maxNames) {
        line[strcspn(line, "\n")] = 0;
        if (line[0] != 0) build_query(&queries[names++], line);
    }
    fclose(file);
    if (names == 0) fail(path, "no names");
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
        if (connect(client->descriptor, (struct sockaddr *)&server, sizeof server) < 0) {
            fail("connect", strerror(errno));
        }
        for (unsigned place = 0; place < window; place++) client->ids[place] = (uint16_t)place;
    }
}

// MARK: asking

// Fills the free places of the client's window, with `pick` choosing what is asked.
static uint64_t ask(struct client *client, uint64_t limit, unsigned (*pick)(void)) {
    static unsigned char packets[window][maxQueryBytes];
    struct mmsghdr datagrams[window];
    struct iovec vectors[window];
    unsigned count = 0;
    for (unsigned place = 0; place < window && count < limit; place++) {
        if (client->asked[place] != NULL) continue;
        const struct query *query = &queries[pick()];
        client->asked[place] = query;
        client->ids[place] = (uint16_t)(client->ids[place] + window); // a late reply to the last one is known as such
        memcpy(packets[count], query->packet, query->bytes);
        packets[count][0] = (unsigned char)(client->ids[place] >> 8);
        packets[count][1] = (unsigned char)client->ids[place];
        vectors[count] = (struct iovec){packets[count], query->bytes};
        datagrams[count].msg_hdr = (struct msghdr){.msg_iov = &vectors[count], .msg_iovlen = 1};
        count++;
    }
    client->outstanding += count;
    for (unsigned sent = 0; sent < count;) {
        int now = sendmmsg(client->descriptor, datagrams + sent, count - sent, MSG_NOSIGNAL);
        sent += now > 0 ? (unsigned)now : 1; // one that can't be sent is found missing later
    }
    return count;
}

static void check(struct client *client, const unsigned char *reply, size_t bytes) {
    if (bytes < headerBytes) fail("wrong reply", "too short");
    uint16_t id = (uint16_t)(reply[0] << 8 | reply[1]);
    unsigned place = id % window;
    const struct query *query = client->asked[place];
    if (query == NULL || client->ids[place] != id) return; // counted as lost before
    if ((reply[2] & 0x80) == 0) fail("wrong reply", "QR is 0");
    if (bytes < headerBytes + query->questionBytes
        || memcmp(reply + headerBytes, query->packet + headerBytes, query->questionBytes) != 0) {
        fail("wrong reply", "another question");
    }
    if (!isEcho && (reply[3] & 0x0F) != 0) fail("wrong reply", "not NOERROR");
    if (!isEcho && reply[6] == 0 && reply[7] == 0) fail("wrong reply", "no answers");
    client->asked[place] = NULL;
    client->outstanding--;
    answered++;
}

static unsigned take_replies(struct client *client) {
    static unsigned char packets[window][maxReplyBytes];
    struct mmsghdr datagrams[window];
    struct iovec vectors[window];
    for (unsigned place = 0; place < window; place++) {
        vectors[place] = (struct iovec){packets[place], maxReplyBytes};
        datagrams[place].msg_hdr = (struct msghdr){.msg_iov = &vectors[place], .msg_iovlen = 1};
    }
    int count = recvmmsg(client->descriptor, datagrams, window, MSG_DONTWAIT, NULL);
    for (int place = 0; place < count; place++) check(client, packets[place], datagrams[place].msg_len);
    return count > 0 ? (unsigned)count : 0; // errors come from ICMP: no listener yet
}

// Nothing came for `lossMilliseconds`: what is outstanding won't come any more.
static void give_up_outstanding(void) {
    for (struct client *client = all; client < all + clients; client++) {
        lost += client->outstanding;
        client->outstanding = 0;
        memset(client->asked, 0, sizeof client->asked);
    }
}

static void wait_for_replies(void) {
    struct pollfd waits[clients];
    for (unsigned index = 0; index < clients; index++) {
        waits[index] = (struct pollfd){.fd = all[index].descriptor, .events = POLLIN};
    }
    if (poll(waits, clients, lossMilliseconds) == 0) give_up_outstanding();
}

// Looks again and again before it sleeps: a server that finds its client asleep pays for waking it (on a virtual
// machine a tenth of the cost of a query), and the slower the server, the more often.
static void run(uint64_t count) {
    uint64_t left = count, silentSince = nanoseconds(CLOCK_MONOTONIC), outstanding = 1;
    while (left > 0 || outstanding > 0) {
        unsigned arrived = 0;
        outstanding = 0;
        for (struct client *client = all; client < all + clients; client++) {
            arrived += take_replies(client);
            left -= ask(client, left, next_name);
            outstanding += client->outstanding;
        }
        uint64_t now = nanoseconds(CLOCK_MONOTONIC);
        if (arrived > 0) silentSince = now;
        if (now - silentSince > giveUpSeconds * 1000000000ull) fail("server", "no replies");
        if (now - silentSince > spinNanoseconds && outstanding > 0) wait_for_replies();
    }
}

static unsigned warmingName;

static unsigned name_to_warm(void) { return warmingName; }

// One name at a time: this is about filling the cache, not about load.
static void warm_up(void) {
    uint64_t begin = nanoseconds(CLOCK_MONOTONIC);
    for (warmingName = 0; warmingName < names; warmingName++) {
        uint64_t before = answered;
        while (answered == before) {
            if (all->outstanding == 0) ask(all, 1, name_to_warm);
            struct pollfd wait = {.fd = all->descriptor, .events = POLLIN};
            if (poll(&wait, 1, lossMilliseconds) == 0) give_up_outstanding();
            if (take_replies(all) == 0 && wait.revents & POLLERR) {
                usleep(10000); // not listening yet
                give_up_outstanding();
            }
            if (nanoseconds(CLOCK_MONOTONIC) - begin > 3 * giveUpSeconds * 1000000000ull) fail("server", "no replies");
        }
    }
    answered = lost = 0;
}

// MARK: figures

// The process's own clock counts all its threads, ended ones as well, in nanoseconds; how much of that was spent in
// the kernel is known by samples only, in ticks of 1/100 s.
static struct usage usage_of(pid_t pid) {
    struct usage usage = {0};
    clockid_t clock;
    if (pid == 0) return usage;
    if (clock_getcpuclockid(pid, &clock) != 0) fail("--pid", "no such process");
    usage.nanoseconds = nanoseconds(clock);
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "re");
    if (file == NULL) fail(path, strerror(errno));
    // Fields 14 and 15; the name in field 2 has no spaces in the programs that are measured.
    if (fscanf(file, "%*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lu %lu", &usage.userTicks,
               &usage.systemTicks) != 2) {
        fail(path, "unreadable");
    }
    fclose(file);
    return usage;
}

int main(int argc, char **argv) {
    pid_t pid = 0;
    for (int index = 4; index < argc; index++) {
        if (strcmp(argv[index], "--echo") == 0) isEcho = 1;
        if (strcmp(argv[index], "--pid") == 0 && index + 1 < argc) pid = atoi(argv[++index]);
    }
    if (argc < 4) {
        fprintf(stderr, "usage: query-load PORT NAMES QUERIES [--pid PID] [--echo]\n");
        return 3;
    }
    read_names(argv[2]);
    connect_clients(argv[1]);
    warm_up();
    struct usage before = usage_of(pid);
    started = nanoseconds(CLOCK_MONOTONIC);
    run(strtoull(argv[3], NULL, 10));
    double seconds = (double)(nanoseconds(CLOCK_MONOTONIC) - started) / 1e9;
    struct usage after = usage_of(pid);
    printf("%llu %llu %.4f %llu %lu %lu\n", (unsigned long long)answered, (unsigned long long)lost, seconds,
           (unsigned long long)(after.nanoseconds - before.nanoseconds), after.userTicks - before.userTicks,
           after.systemTicks - before.systemTicks);
    return 0;
}
