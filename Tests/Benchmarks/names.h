// The names of `scripts/bench memory`, `start`, `tcp` and `growth`, and queries for them.
#ifndef NAMES_H
#define NAMES_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum {
    maxNameNumber = 99999999,
    maxPaddingBytes = 24,
    maxNameDomains = 100,
    maxNameQueryBytes = 12 + 28 + maxPaddingBytes + 4 + 11, // header, name, type and class, OPT
};

/// Registrable domains of the names. More than one: memory00.example and so on, in turn.
static unsigned nameDomains = 1;

struct name_query {
    size_t bytes;
    size_t questionBytes;
    unsigned char packet[maxNameQueryBytes];
};

/// A query of type A for name `number`: n00012345xxx.memory.example. Its length differs from number to number, because
/// memory that is given back in one size and taken in another is what fragments it.
static inline void write_name_query(struct name_query *query, uint16_t id, unsigned number) {
    static const unsigned char header[] = {0x01, 0, 0, 1, 0, 0, 0, 0, 0, 1};
    static const unsigned char end[] = "\7example\0\0\1\0\1"; // A, IN; C adds another 0
    static const unsigned char option[] = {0, 0, 41, 4, 0xD0, 0, 0, 0, 0, 0, 0}; // 1232 bytes
    unsigned padding = (number * 2654435761u >> 16) % (maxPaddingBytes + 1);
    unsigned char *at = query->packet;
    *at++ = (unsigned char)(id >> 8);
    *at++ = (unsigned char)id;
    at = (unsigned char *)mempcpy(at, header, sizeof header);
    *at++ = (unsigned char)(9 + padding);
    at += snprintf((char *)at, 10, "n%08u", number % (maxNameNumber + 1));
    memset(at, 'x', padding);
    at += padding;
    *at++ = nameDomains > 1 ? 8 : 6;
    at = (unsigned char *)mempcpy(at, "memory", 6);
    if (nameDomains > 1) at += snprintf((char *)at, 3, "%02u", number % nameDomains % maxNameDomains);
    at = (unsigned char *)mempcpy(at, end, sizeof end - 1);
    query->questionBytes = (size_t)(at - query->packet) - 12;
    at = (unsigned char *)mempcpy(at, option, sizeof option);
    query->bytes = (size_t)(at - query->packet);
}

/// Whether a message is a reply with at least one answer and NOERROR to the query, but for the id.
static inline int is_good_reply(const unsigned char *reply, size_t bytes, const struct name_query *query) {
    return bytes > 12 + query->questionBytes && (reply[2] & 0x80) != 0 && (reply[3] & 0x0F) == 0
           && (reply[6] | reply[7]) != 0 && memcmp(reply + 12, query->packet + 12, query->questionBytes) == 0;
}

#endif
