// Between the two halves of replay-load: sockets and time in replay-load.c, the trace, the messages and the figures in
// replay-verdicts.c.
#ifndef REPLAY_LOAD_H
#define REPLAY_LOAD_H

#include "replay.h"

#include <stddef.h>
#include <stdio.h>

enum {
    maxNames = 4096,
    maxQueryBytes = 64,
    maxReplyBytes = 1232,
    timeoutSeconds = 5, // glibc's: then a stub resolver asks again, and the user has noticed
};

enum verdict { unanswered, answered, refused, wrong }; // refused: SERVFAIL and every other code but NOERROR

/// What the trace says: who is asked when, the same for every server. `at` is in nanoseconds from the begin.
struct arrival {
    int64_t at;
    unsigned name;
    unsigned id;
};

/// One query of one server. Times are in nanoseconds of the wall clock.
struct flight {
    int descriptor; // -1 when nothing is expected
    enum verdict verdict;
    int64_t sent, received;
    uint32_t issued; // milliseconds after the begin: what the address says
};

/// The times of the outage, in nanoseconds of the wall clock.
struct outage {
    int64_t begin, end;
};

/// What a trace is made of: the same for the same values.
struct trace {
    uint64_t seed;
    unsigned names, domains, seconds, rate; // the rate is in queries a second
};

/// Poisson arrivals, names by Zipf's law with exponent 1. Ends the program when there is no memory. Returns how many
/// there are.
size_t make_trace(const struct trace *trace, struct arrival **arrivals);

/// A query of type A, as glibc sends it. Returns its length.
size_t write_query(const char *name, unsigned id, unsigned char query[maxQueryBytes]);

/// The text of a name's number, once the trace is made. The names take turns among the registrable domains.
void write_name(unsigned number, char text[maxQueryBytes]);

/// What a reply to the query is worth; sets `issued` for an answer. -1: not a reply to it. An echo needs no records.
int judge_reply(const unsigned char *query, size_t queryBytes, const unsigned char *reply, size_t bytes, int isEcho,
                uint32_t *issued);

/// One line of figures, and in `waits` a line for each flight that no client should see, described in replay-load.c.
void print_figures(const char *server, const struct arrival *arrivals, const struct flight *flights, size_t count,
                   int64_t begin, const struct outage *outage, FILE *waits);

#endif
