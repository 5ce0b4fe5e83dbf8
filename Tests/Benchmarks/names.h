// The names of `scripts/bench memory` and `start`, and queries for them.
#ifndef NAMES_H
#define NAMES_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum {
    nameQueryBytes = 12 + 26 + 4 + 11, // header, name, type and class, OPT
    maxNameNumber = 99999999,
};

/// A query of type A for name `number`, as long as usual names are: n12345678.memory.example.
static inline void write_name_query(unsigned char query[nameQueryBytes], uint16_t id, unsigned number) {
    static const unsigned char header[] = {0x01, 0, 0, 1, 0, 0, 0, 0, 0, 1};
    static const unsigned char rest[] = {6, 'm', 'e', 'm', 'o', 'r', 'y', 7, 'e', 'x', 'a', 'm', 'p', 'l', 'e', 0,
                                         0, 1,   0,   1,   0,   0,   41,  4, 0xD0, 0, 0,   0,   0,   0,   0};
    char label[11];
    snprintf(label, sizeof label, "\x09n%08u", number % (maxNameNumber + 1));
    query[0] = (unsigned char)(id >> 8);
    query[1] = (unsigned char)id;
    memcpy(query + 2, header, sizeof header);
    memcpy(query + 12, label, 10);
    memcpy(query + 22, rest, sizeof rest);
}

/// Whether a message is a reply with at least one answer and NOERROR to the query, but for the id.
static inline int is_good_reply(const unsigned char *reply, size_t bytes, const unsigned char query[nameQueryBytes]) {
    return bytes > nameQueryBytes - 11 && (reply[2] & 0x80) != 0 && (reply[3] & 0x0F) == 0 && (reply[6] | reply[7]) != 0
           && memcmp(reply + 12, query + 12, nameQueryBytes - 11 - 12) == 0;
}

#endif
