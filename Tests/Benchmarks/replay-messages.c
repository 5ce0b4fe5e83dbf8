// The messages of replay-upstream and instant-upstream: DNS (RFC 1035), the JSON form of public resolvers, and the
// plain text form of DNSPod's HTTPS service. Just what the servers of the benchmarks send and need; nothing here knows
// a socket or a clock.
#define _GNU_SOURCE
#include "replay-upstream.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum {
    maxNameBytes = 254,
    maxBodyBytes = maxReplyBytes - 256, // the header takes the rest
    headerBytes = 12,
    typeA = 1,
    typeAAAA = 28,
};

// MARK: DNS

static unsigned char *put16(unsigned char *at, unsigned value) {
    *at++ = (unsigned char)(value >> 8);
    *at++ = (unsigned char)value;
    return at;
}

static unsigned char *put32(unsigned char *at, uint32_t value) { return put16(put16(at, value >> 16), value & 0xFFFF); }

// The name at byte 12 as text in lower case. Returns where it ends, 0 when it is broken or compressed.
static size_t read_name(const unsigned char *query, size_t bytes, char text[maxNameBytes]) {
    size_t at = headerBytes, length = 0;
    while (at < bytes && query[at] != 0) {
        unsigned label = query[at++];
        if (label > 63 || at + label > bytes || length + label + 2 > maxNameBytes) return 0;
        if (length > 0) text[length++] = '.';
        for (unsigned index = 0; index < label; index++) text[length++] = (char)tolower(query[at + index]);
        at += label;
    }
    text[length] = 0;
    return at < bytes ? at + 1 : 0;
}

// One record, owned by the name of the question.
static unsigned char *put_record(unsigned char *at, unsigned type, uint32_t ttl, unsigned dataBytes) {
    at = put16(at, 0xC000 | headerBytes);
    return put16(put32(put16(put16(at, type), 1), ttl), dataBytes);
}

// NODATA: the SOA record (nameserver and mailbox: root), whose last field and TTL say how long that holds.
static unsigned char *put_start_of_authority(unsigned char *at, uint32_t ttl) {
    at = put_record(at, 6, ttl, 22);
    at = put16(at, 0);
    for (unsigned field = 0; field < 5; field++) at = put32(at, ttl);
    return at;
}

size_t dns_reply(const unsigned char *query, size_t bytes, uint32_t issued, unsigned char *reply) {
    char name[maxNameBytes];
    if (bytes < headerBytes || query[2] & 0x80) return 0;
    size_t end = read_name(query, bytes, name);
    if (end == 0 || end + 4 > bytes) return 0;
    int isA = (query[end] << 8 | query[end + 1]) == typeA, hasOption = query[11] > 0;
    uint32_t ttl = answer_lifetime(name);
    memcpy(reply, query, end + 4);
    put16(reply + 2, 0x8180); // QR, RD, RA
    put16(put16(put16(put16(reply + 4, 1), isA), !isA), hasOption);
    unsigned char *at = reply + end + 4;
    if (isA) {
        at = put32(put_record(at, typeA, ttl, 4), answer_address(issued));
    } else {
        at = put_start_of_authority(at, ttl);
    }
    if (hasOption) at = mempcpy(at, "\0\0\x29\x04\xD0\0\0\0\0\0\0", 11); // 1232 bytes, nothing else
    return (size_t)(at - reply);
}

size_t dns_refusal(const unsigned char *query, size_t bytes, unsigned code, unsigned char *reply) {
    char name[maxNameBytes];
    if (bytes < headerBytes || query[2] & 0x80) return 0;
    size_t end = read_name(query, bytes, name);
    if (end == 0 || end + 4 > bytes) return 0;
    memcpy(reply, query, end + 4);
    put16(reply + 2, 0x8180 | code); // QR, RD, RA
    put16(put16(put16(put16(reply + 4, 1), 0), 0), 0);
    return end + 4;
}

// MARK: HTTP

// Copies the value of a parameter of the first line, decoded and in lower case. Returns 0 when there is none.
static int read_parameter(const char *request, size_t bytes, const char *name, char *value, size_t room) {
    size_t nameLength = strlen(name), length = 0;
    const char *lineEnd = memchr(request, '\r', bytes), *at = request;
    while (at < lineEnd && *at != '?') at++;
    while (at < lineEnd && (*at == '?' || *at == '&')
           && (strncmp(at + 1, name, nameLength) != 0 || at[1 + nameLength] != '=')) {
        do at++;
        while (at < lineEnd && *at != '&' && *at != ' ');
    }
    if (at >= lineEnd || *at == ' ') return 0;
    for (at += nameLength + 2; at < lineEnd && *at != '&' && *at != ' ' && length + 1 < room; at++) {
        char byte = *at;
        if (byte == '%' && isxdigit((unsigned char)at[1]) && isxdigit((unsigned char)at[2])) {
            byte = (char)strtol((char[]){at[1], at[2], 0}, NULL, 16);
            at += 2;
        }
        value[length++] = (char)tolower((unsigned char)byte);
    }
    value[length] = 0;
    return length > 0;
}

static int is_request_for(const char *path, const char *request, size_t bytes) {
    size_t length = strlen(path);
    return bytes > length && strncmp(request, path, length) == 0;
}

static int is_AAAA(const char *request, size_t bytes) {
    char type[8];
    if (!read_parameter(request, bytes, "type", type, sizeof type)) return 0;
    return strcmp(type, "aaaa") == 0 || atoi(type) == typeAAAA;
}

static void address_text(uint32_t issued, char text[16]) {
    uint32_t address = answer_address(issued);
    snprintf(text, 16, "%u.%u.%u.%u", address >> 24, address >> 16 & 255, address >> 8 & 255, address & 255);
}

// As of public resolvers. Returns the length, 0 for a request that asks for no name.
static int json_body(const char *request, size_t bytes, uint32_t issued, char body[maxBodyBytes]) {
    char name[maxNameBytes], address[16], record[maxNameBytes + 128];
    if (!read_parameter(request, bytes, "name", name, sizeof name)) return 0;
    if (name[strlen(name) - 1] == '.') name[strlen(name) - 1] = 0;
    unsigned ttl = answer_lifetime(name);
    int type = is_AAAA(request, bytes) ? typeAAAA : typeA;
    address_text(issued, address);
    if (type == typeA) {
        snprintf(record, sizeof record, "\"Answer\":[{\"name\":\"%s.\",\"type\":1,\"TTL\":%u,\"data\":\"%s\"}]", name,
                 ttl, address);
    } else {
        snprintf(record, sizeof record,
                 "\"Authority\":[{\"name\":\"%s.\",\"type\":6,\"TTL\":%u,\"data\":\". . 1 %u %u %u %u\"}]", name, ttl,
                 ttl, ttl, ttl, ttl);
    }
    return snprintf(body, maxBodyBytes,
                    "{\"Status\":0,\"TC\":false,\"RD\":true,\"RA\":true,\"AD\":false,\"CD\":false,"
                    "\"Question\":[{\"name\":\"%s.\",\"type\":%d}],%s}",
                    name, type, record);
}

// `name.:address,ttl|client`, a line for each name; `0` stands for no record.
static int text_body(const char *request, size_t bytes, uint32_t issued, char body[maxBodyBytes]) {
    char names[maxRequestBytes], address[16], *rest = NULL;
    int length = 0, isAAAA = is_AAAA(request, bytes);
    if (!read_parameter(request, bytes, "dn", names, sizeof names)) return 0;
    address_text(issued, address);
    for (char *name = strtok_r(names, ",", &rest); name != NULL; name = strtok_r(NULL, ",", &rest)) {
        size_t room = (size_t)(maxBodyBytes - length);
        int line = isAAAA ? snprintf(body + length, room, "%s.:0|127.0.0.1\n", name)
                          : snprintf(body + length, room, "%s.:%s,%u|127.0.0.1\n", name, address,
                                     answer_lifetime(name));
        if ((size_t)line >= room) return 0;
        length += line;
    }
    return length;
}

unsigned http_names(const char *request, size_t bytes) {
    char names[maxRequestBytes];
    if (is_request_for("GET /resolve?", request, bytes)) return 1;
    if (!is_request_for("GET /d?", request, bytes)) return 0;
    if (!read_parameter(request, bytes, "dn", names, sizeof names)) return 0;
    unsigned count = 1;
    for (const char *at = names; *at != 0; at++) count += *at == ',';
    return count;
}

size_t http_refusal(const char *status, char reply[maxReplyBytes]) {
    return (size_t)snprintf(reply, maxReplyBytes, "HTTP/1.1 %s\r\nContent-Length: 0\r\n\r\n", status);
}

size_t http_reply(const char *request, size_t bytes, uint32_t issued, char reply[maxReplyBytes]) {
    char body[maxBodyBytes];
    int isText = is_request_for("GET /d?", request, bytes), length = 0;
    if (isText) length = text_body(request, bytes, issued, body);
    if (is_request_for("GET /resolve?", request, bytes)) length = json_body(request, bytes, issued, body);
    length = snprintf(reply, maxReplyBytes,
                      "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%.*s",
                      length > 0 ? "200 OK" : "404 Not Found", isText ? "text/plain" : "application/json", length,
                      length, body);
    return (size_t)length;
}
