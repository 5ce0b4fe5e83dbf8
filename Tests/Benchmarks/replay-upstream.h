// Between the two halves of an upstream: sockets and time in replay-upstream.c or instant-upstream.c, messages in
// replay-messages.c.
#ifndef REPLAY_UPSTREAM_H
#define REPLAY_UPSTREAM_H

#include "replay.h"

#include <stddef.h>

enum {
    maxRequestBytes = 2048, // eight names of 253 bytes would not fit; ours have at most 25
    maxReplyBytes = 4096,
};

/// Seconds: what the upstream gives the answers for a name, in lower case without its last dot.
unsigned answer_lifetime(const char *name);

/// The address that the upstream gives in an answer: `issued` is another one each time.
uint32_t answer_address(uint32_t issued);

/// How many names an HTTP request asks for; 0 for one that is not understood.
unsigned http_names(const char *request, size_t bytes);

/// Writes the HTTP reply, at most `maxReplyBytes`, with the address that belongs to `issued`; 404 for what is not
/// understood. Returns its length.
size_t http_reply(const char *request, size_t bytes, uint32_t issued, char reply[maxReplyBytes]);

/// The same for a DNS message. Returns 0 for one that is not understood.
size_t dns_reply(const unsigned char *query, size_t bytes, uint32_t issued, unsigned char *reply);

/// Writes an HTTP reply without a body, with this status line. Returns its length.
size_t http_refusal(const char *status, char reply[maxReplyBytes]);

/// Writes a DNS message without records, with this response code. Returns 0 for a query that is not understood.
size_t dns_refusal(const unsigned char *query, size_t bytes, unsigned code, unsigned char *reply);

#endif
