// The load of `scripts/bench hit` and `growth`: DNS queries from several sockets, each with a window of outstanding
// ones, so that the server always has work and never more than it can hold. Every reply is checked: id, QR, question,
// NOERROR and at least one answer. It then says what the server's process took, by the kernel's account.
//
//     query-load PORT NAMES --fill
//     query-load PORT NAMES QUERIES [--pid PID] [--echo] [--yield]
//     query-load PORT NAMES QUERIES --rate QUERIES_PER_SECOND
//
// The names are name1.bench.example up to number NAMES. --fill asks each until it is answered. Otherwise QUERIES
// queries are drawn evenly from the names, with the same seed each time. With --pid the figures of that process follow;
// --echo expects queries back in place of answers; --yield sleeps whenever nothing has arrived, for a load that shares
// its core with the server. It prints one line:
//
//     answered lost seconds cpu_ns user_ticks system_ticks
//
// --rate sends at a fixed pace. The latency of a query counts from when it was due, so that a stall of the server
// delays none unseen. The line is then, in nanoseconds but for the counts:
//
//     answered lost p50 p99 p999
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
    maxNames = 10 * 1000 * 1000,
    maxQueries = 10 * 1000 * 1000, // of a paced load, whose latencies are kept
    maxQueryBytes = 64,   // header, name, type, class, OPT
    maxReplyBytes = 1232, // what the queries offer to take
    headerBytes = 12,
    optionBytes = 11,
    spinNanoseconds = 2000000,
    lossMilliseconds = 500,
    fillPasses = 20,
    giveUpSeconds = 10,
};

struct query {
    unsigned name;
    size_t bytes;
    size_t questionBytes;
    unsigned char packet[maxQueryBytes];
};

struct place {
    int isTaken;
    uint16_t id;    // the place is the id modulo `window`
    uint64_t dueAt; // of a paced load
    struct query query;
};

struct client {
    int descriptor;
    unsigned outstanding;
    struct place places[window];
};

struct usage {
    uint64_t nanoseconds;
    unsigned long userTicks, systemTicks;
};

static unsigned names;
static struct client all[clients];
static int isEcho, isFilling, yields;
static unsigned char *isAnswered; // while filling: of each name
static uint64_t *latencies;       // of a paced load: of each answer
static uint64_t answered, lost;
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

static void build_query(struct query *query, unsigned name) {
    static const unsigned char header[headerBytes] = {0, 0, 0x01, 0, 0, 1, 0, 0, 0, 0, 0, 1};
    static const unsigned char end[] = "\5bench\7example\0\0\1\0\1\0\0\51\4\xD0\0\0\0\0\0"; // A, IN; OPT, 1232 bytes
    unsigned char digits[10];
    unsigned count = 0;
    for (unsigned left = name + 1; left > 0; left /= 10) digits[count++] = (unsigned char)('0' + left % 10);
    unsigned char *at = mempcpy(query->packet, header, headerBytes);
    *at++ = (unsigned char)(4 + count);
    at = mempcpy(at, "name", 4);
    while (count > 0) *at++ = digits[--count];
    at = mempcpy(at, end, sizeof end); // the last byte of OPT is the one that C adds
    query->name = name;
    query->bytes = (size_t)(at - query->packet);
    query->questionBytes = query->bytes - headerBytes - optionBytes;
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
        for (unsigned place = 0; place < window; place++) client->places[place].id = (uint16_t)place;
    }
}

// MARK: asking

// Fills the free places of the client's window, with `pick` choosing what is asked.
static uint64_t ask(struct client *client, uint64_t limit, unsigned (*pick)(void), uint64_t dueAt) {
    struct mmsghdr datagrams[window];
    struct iovec vectors[window];
    unsigned count = 0;
    for (struct place *place = client->places; place < client->places + window && count < limit; place++) {
        if (place->isTaken) continue;
        place->isTaken = 1;
        place->dueAt = dueAt;
        place->id = (uint16_t)(place->id + window); // a late reply to the last one is known as such
        build_query(&place->query, pick());
        place->query.packet[0] = (unsigned char)(place->id >> 8);
        place->query.packet[1] = (unsigned char)place->id;
        vectors[count] = (struct iovec){place->query.packet, place->query.bytes};
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
    struct place *place = &client->places[id % window];
    const struct query *query = &place->query;
    if (!place->isTaken || place->id != id) return; // counted as lost before
    if ((reply[2] & 0x80) == 0) fail("wrong reply", "QR is 0");
    if (bytes < headerBytes + query->questionBytes
        || memcmp(reply + headerBytes, query->packet + headerBytes, query->questionBytes) != 0) {
        fail("wrong reply", "another question");
    }
    int isGood = isEcho || ((reply[3] & 0x0F) == 0 && (reply[6] | reply[7]) != 0);
    if (!isGood && !isFilling) fail("wrong reply", "not NOERROR, or no answers");
    place->isTaken = 0;
    client->outstanding--;
    if (isFilling) isAnswered[query->name] = (unsigned char)isGood;
    if (latencies != NULL) latencies[answered] = nanoseconds(CLOCK_MONOTONIC) - place->dueAt;
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
        for (unsigned place = 0; place < window; place++) client->places[place].isTaken = 0;
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
static void run(uint64_t count, unsigned (*pick)(void)) {
    uint64_t left = count, silentSince = nanoseconds(CLOCK_MONOTONIC), outstanding = 1;
    while (left > 0 || outstanding > 0) {
        unsigned arrived = 0;
        outstanding = 0;
        for (struct client *client = all; client < all + clients; client++) {
            arrived += take_replies(client);
            left -= ask(client, left, pick, 0);
            outstanding += client->outstanding;
        }
        uint64_t now = nanoseconds(CLOCK_MONOTONIC);
        if (arrived > 0) silentSince = now;
        if (now - silentSince > giveUpSeconds * 1000000000ull) fail("server", "no replies");
        if (now - silentSince > (yields ? 0 : spinNanoseconds) && outstanding > 0) wait_for_replies();
    }
}

// Asks at a fixed pace, from one client after the other. A query whose client has no free place is sent later.
static void run_paced(uint64_t count, double rate) {
    uint64_t began = nanoseconds(CLOCK_MONOTONIC), sent = 0, heardAt = began, outstanding = 1;
    latencies = calloc(count, sizeof *latencies);
    if (latencies == NULL) fail("latencies", strerror(errno));
    while (sent < count || outstanding > 0) {
        outstanding = 0;
        uint64_t now = nanoseconds(CLOCK_MONOTONIC), due = began + (uint64_t)((double)sent * 1e9 / rate);
        if (sent < count && due <= now) sent += ask(&all[sent % clients], 1, next_name, due);
        for (struct client *client = all; client < all + clients; client++) {
            if (client->outstanding > 0 && take_replies(client) > 0) heardAt = now;
            outstanding += client->outstanding;
        }
        if (now - heardAt > lossMilliseconds * 1000000ull) {
            if (answered == 0) fail("server", "no replies");
            give_up_outstanding();
            heardAt = now;
        }
    }
}

static unsigned nextToFill;

static unsigned next_unanswered(void) {
    unsigned name = nextToFill;
    do nextToFill++;
    while (nextToFill < names && isAnswered[nextToFill]);
    return name;
}

static unsigned count_unanswered(void) {
    unsigned count = 0;
    for (unsigned name = names; name-- > 0;) {
        if (isAnswered[name]) continue;
        nextToFill = name;
        count++;
    }
    return count;
}

static void fill(void) {
    isFilling = 1;
    yields = 1; // the upstream may share the core
    isAnswered = calloc(names, 1);
    if (isAnswered == NULL) fail("names", strerror(errno));
    for (unsigned pass = 0, left; (left = count_unanswered()) > 0; pass++) {
        if (pass == fillPasses) fail("server", "some names are never answered");
        run(left, next_unanswered);
    }
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

static int ascending(const void *one, const void *other) {
    uint64_t left = *(const uint64_t *)one, right = *(const uint64_t *)other;
    return (left > right) - (left < right);
}

static void print_latencies(void) {
    if (answered == 0) fail("server", "no replies");
    qsort(latencies, answered, sizeof *latencies, ascending);
    printf("%llu %llu %llu %llu %llu\n", (unsigned long long)answered, (unsigned long long)lost,
           (unsigned long long)latencies[answered / 2], (unsigned long long)latencies[answered * 99 / 100],
           (unsigned long long)latencies[answered * 999 / 1000]);
}

static void print_usage_of(pid_t pid, uint64_t queries) {
    struct usage before = usage_of(pid);
    uint64_t began = nanoseconds(CLOCK_MONOTONIC);
    run(queries, next_name);
    double seconds = (double)(nanoseconds(CLOCK_MONOTONIC) - began) / 1e9;
    struct usage after = usage_of(pid);
    printf("%llu %llu %.4f %llu %lu %lu\n", (unsigned long long)answered, (unsigned long long)lost, seconds,
           (unsigned long long)(after.nanoseconds - before.nanoseconds), after.userTicks - before.userTicks,
           after.systemTicks - before.systemTicks);
}

int main(int argc, char **argv) {
    pid_t pid = 0;
    double rate = 0;
    for (int index = 3; index < argc; index++) {
        if (strcmp(argv[index], "--fill") == 0) isFilling = 1;
        if (strcmp(argv[index], "--echo") == 0) isEcho = 1;
        if (strcmp(argv[index], "--yield") == 0) yields = 1;
        if (strcmp(argv[index], "--pid") == 0 && index + 1 < argc) pid = atoi(argv[++index]);
        if (strcmp(argv[index], "--rate") == 0 && index + 1 < argc) rate = atof(argv[++index]);
    }
    names = argc > 3 ? (unsigned)atoi(argv[2]) : 0;
    uint64_t queries = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
    if (names == 0 || names > maxNames || (queries == 0 && !isFilling) || (rate > 0 && queries > maxQueries)) {
        fprintf(stderr, "usage: query-load PORT NAMES QUERIES|--fill [--pid PID] [--echo] [--yield] [--rate RATE]\n");
        return 3;
    }
    connect_clients(argv[1]);
    if (isFilling) {
        fill();
    } else if (rate > 0) {
        run_paced(queries, rate);
        print_latencies();
    } else {
        print_usage_of(pid, queries);
    }
    return 0;
}
