// The trace of replay-load, its messages, and the figures at the end. Nothing here knows a socket or a clock.
#define _GNU_SOURCE
#include "replay-load.h"

#include <arpa/inet.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    headerBytes = 12,
    typeA = 1,
    maxRecords = 16,
    fastMilliseconds = 5,
    // Lifetimes are whole seconds and common servers count in whole seconds: what came at 0.0 and lives 5 s is
    // given out until 5.99 by one that looks at `now <= expiry`. That is no stale answer.
    toleranceMilliseconds = 1000,
    // After the outage for this long, a client may still get what the server has.
    graceMilliseconds = 1000,
};

// MARK: trace

static uint64_t randomState;

// xorshift64* (Vigna 2016), in [0, 1)
static double next_random(void) {
    randomState ^= randomState >> 12;
    randomState ^= randomState << 25;
    randomState ^= randomState >> 27;
    return (double)(randomState * 0x2545F4914F6CDD1Du >> 11) / 9007199254740992.0;
}

static unsigned draw_name(const double *cumulative, unsigned names) {
    double drawn = next_random() * cumulative[names - 1];
    unsigned low = 0, high = names - 1;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (cumulative[middle] > drawn) high = middle;
        else low = middle + 1;
    }
    return low;
}

static unsigned domains = 1;

size_t make_trace(const struct trace *trace, struct arrival **arrivals) {
    static double cumulative[maxNames];
    size_t room = (size_t)trace->seconds * trace->rate * 2, count = 0; // twice the mean: never reached
    domains = trace->domains;
    *arrivals = calloc(room, sizeof **arrivals);
    if (*arrivals == NULL) abort();
    randomState = trace->seed * 0x9E3779B97F4A7C15u | 1; // any seed but a state of zero
    cumulative[0] = 1;
    for (unsigned name = 1; name < trace->names; name++) cumulative[name] = cumulative[name - 1] + 1.0 / (name + 1);
    for (unsigned turn = 0; turn < 16; turn++) next_random(); // seeds that resemble each other must not begin alike
    double at = 0;
    while (count < room) {
        at -= log(1 - next_random()) / trace->rate;
        if (at >= trace->seconds) break;
        struct arrival *arrival = &(*arrivals)[count++];
        arrival->at = (int64_t)(at * 1e9);
        arrival->name = draw_name(cumulative, trace->names);
        arrival->id = (unsigned)(next_random() * 65536);
    }
    return count;
}

// MARK: messages

void write_name(unsigned number, char text[maxQueryBytes]) {
    if (domains == 1) snprintf(text, maxQueryBytes, "name%u.replay.example", number);
    else snprintf(text, maxQueryBytes, "name%u.replay%u.example", number, number % domains);
}

size_t write_query(const char *name, unsigned id, unsigned char query[maxQueryBytes]) {
    unsigned char *at = mempcpy(query, "\0\0\1\0\0\1\0\0\0\0\0\0", headerBytes);
    query[0] = (unsigned char)(id >> 8);
    query[1] = (unsigned char)id;
    while (*name != 0) {
        size_t label = strcspn(name, ".");
        *at++ = (unsigned char)label;
        at = mempcpy(at, name, label);
        name += label + (name[label] == '.');
    }
    at = mempcpy(at, "\0\0\1\0\1", 5); // root, A, IN
    return (size_t)(at - query);
}

static size_t skip_name(const unsigned char *reply, size_t bytes, size_t at) {
    while (at < bytes && reply[at] != 0 && reply[at] < 0xC0) at += 1u + reply[at];
    return at < bytes && reply[at] >= 0xC0 ? at + 2 : at + 1;
}

// The address of the first A record, 0 without one.
static uint32_t find_address(const unsigned char *reply, size_t bytes, size_t at) {
    unsigned records = (unsigned)(reply[6] << 8 | reply[7]);
    for (unsigned index = 0; index < records && index < maxRecords; index++) {
        at = skip_name(reply, bytes, at);
        if (at + 10 > bytes) return 0;
        unsigned type = (unsigned)(reply[at] << 8 | reply[at + 1]);
        unsigned length = (unsigned)(reply[at + 8] << 8 | reply[at + 9]);
        at += 10;
        if (at + length > bytes) return 0;
        if (type == typeA && length == 4) {
            uint32_t address;
            memcpy(&address, reply + at, sizeof address);
            return ntohl(address);
        }
        at += length;
    }
    return 0;
}

int judge_reply(const unsigned char *query, size_t queryBytes, const unsigned char *reply, size_t bytes, int isEcho,
                uint32_t *issued) {
    if (bytes < headerBytes || memcmp(reply, query, 2) != 0 || (reply[2] & 0x80) == 0) return -1;
    if ((reply[3] & 0x0F) != 0) return refused;
    if (bytes < queryBytes || memcmp(reply + headerBytes, query + headerBytes, queryBytes - headerBytes) != 0) {
        return wrong;
    }
    if (isEcho) return answered;
    uint32_t address = find_address(reply, bytes, queryBytes);
    *issued = address & 0xFFFFFF;
    return address >> 24 == addressBlock ? answered : wrong;
}

// MARK: figures

struct figures {
    unsigned long repeats, fastRepeats, expiredHealthy, expiredInOutage, failures[3], unanswered, refused, wrong;
    double worstAgeSeconds; // beyond the lifetime, while healthy
};

static int compare(const void *left, const void *right) {
    double difference = *(const double *)left - *(const double *)right;
    return (difference > 0) - (difference < 0);
}

// Sorts `list`. The smallest value that a share of the list does not exceed.
static double quantile(double *list, size_t count, double share) {
    if (count == 0) return 0;
    qsort(list, count, sizeof *list, compare);
    size_t place = (size_t)ceil(share * (double)count);
    return list[place > 0 ? place - 1 : 0];
}

static double milliseconds_taken(const struct flight *flight) {
    if (flight->verdict == unanswered) return timeoutSeconds * 1000.0;
    return (double)(flight->received - flight->sent) / 1e6;
}

// Returns whether the answer has expired while the primary works.
static int note_age(struct figures *figures, const struct flight *flight, unsigned name, int64_t begin,
                     const struct outage *outage) {
    char text[maxQueryBytes];
    write_name(name, text);
    double age = (double)(flight->received - begin) / 1e6 - flight->issued;
    double beyond = age - 1000.0 * lifetime_seconds(text) - toleranceMilliseconds;
    if (beyond <= 0) return 0;
    if (flight->received >= outage->begin && flight->received < outage->end + graceMilliseconds * 1000000ll) {
        figures->expiredInOutage++;
        return 0;
    }
    figures->expiredHealthy++;
    if (beyond / 1000 > figures->worstAgeSeconds) figures->worstAgeSeconds = beyond / 1000;
    return 1;
}

static void note_failure(struct figures *figures, const struct flight *flight, const struct outage *outage) {
    figures->failures[flight->sent < outage->begin ? 0 : flight->sent < outage->end ? 1 : 2]++;
    if (flight->verdict == unanswered) figures->unanswered++;
    if (flight->verdict == refused) figures->refused++;
    if (flight->verdict == wrong) figures->wrong++;
}

static void print_wait(FILE *waits, const char *server, const struct arrival *arrival, double taken, const char *what) {
    char name[maxQueryBytes];
    write_name(arrival->name, name);
    fprintf(waits, "%s %.3f %s %u %.1f %s\n", server, (double)arrival->at / 1e9, name, lifetime_seconds(name), taken,
            what);
}

void print_figures(const char *server, const struct arrival *arrivals, const struct flight *flights, size_t count,
                   int64_t begin, const struct outage *outage, FILE *waits) {
    struct figures figures = {0};
    char isKnown[maxNames] = {0};
    int isEcho = strcmp(server, "floor") == 0;
    double *all = calloc(count + 1, sizeof *all), *repeats = calloc(count + 1, sizeof *repeats);
    if (all == NULL || repeats == NULL) abort();
    for (size_t index = 0; index < count; index++) {
        const struct flight *flight = &flights[index];
        const struct arrival *arrival = &arrivals[index];
        double taken = all[index] = milliseconds_taken(flight);
        int isGood = flight->verdict == answered, isFast = isGood && taken < fastMilliseconds;
        if (isKnown[arrival->name]) {
            figures.fastRepeats += (unsigned long)isFast;
            repeats[figures.repeats++] = taken;
            if (isGood && !isFast) print_wait(waits, server, arrival, taken, "slow");
        }
        isKnown[arrival->name] = 1;
        if (!isGood) {
            note_failure(&figures, flight, outage);
            print_wait(waits, server, arrival, taken, "failed");
        } else if (!isEcho && note_age(&figures, flight, arrival->name, begin, outage)) {
            print_wait(waits, server, arrival, taken, "expired");
        }
    }
    printf("%s %zu %lu %lu", server, count, figures.repeats, figures.fastRepeats);
    printf(" %.3f %.3f %.3f", quantile(all, count, 0.5), quantile(all, count, 0.99), quantile(all, count, 0.999));
    printf(" %.3f %.3f %.3f", quantile(repeats, figures.repeats, 0.5), quantile(repeats, figures.repeats, 0.99),
           quantile(repeats, figures.repeats, 0.999));
    printf(" %lu %lu %.1f", figures.expiredHealthy, figures.expiredInOutage, figures.worstAgeSeconds);
    printf(" %lu %lu %lu", figures.failures[0], figures.failures[1], figures.failures[2]);
    printf(" %lu %lu %lu\n", figures.unanswered, figures.refused, figures.wrong);
    free(all);
    free(repeats);
}
