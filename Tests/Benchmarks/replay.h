// What the upstream and the load of `scripts/bench replay` must agree on: the clock, how long a name's answer lives,
// and how the time of issue is written into an address. A change here changes the trace: old figures can't be compared.
#ifndef REPLAY_H
#define REPLAY_H

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

enum {
    maxServers = 16,
    leastLifetimeSeconds = 5,
    mostLifetimeSeconds = 60,
    // The first byte of every address; the other three count milliseconds since the start, enough for 4.6 hours. A
    // private or a benchmark range would be filtered as rebinding; no program ever connects to these addresses.
    addressBlock = 11,
};

// Seconds, by FNV-1a over the name in lower case without its last dot: even over 5..60, the same in every run, and
// without any relation to how often the name is asked for.
static inline unsigned lifetime_seconds(const char *name) {
    uint32_t hash = 2166136261u;
    for (const char *at = name; *at != 0; at++) hash = (hash ^ (unsigned char)*at) * 16777619u;
    hash ^= hash >> 15; // the low bits of FNV alone follow the last digit
    return leastLifetimeSeconds + hash % (mostLifetimeSeconds - leastLifetimeSeconds + 1);
}

// The wall clock, because the kernel stamps arriving datagrams with it.
static inline int64_t wall_nanoseconds(void) {
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) < 0) abort();
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline int64_t nanoseconds_of(const char *seconds) { return (int64_t)(strtod(seconds, NULL) * 1e9); }

#endif
