// The load of `scripts/bench tcp` for single queries: each has a TCP connection of its own, which ends after the reply.
//
//     connection-load PORT NAMES COUNT
//
// Sends COUNT queries for the names 0 up to NAMES - 1 (names.h) in turn, `places` of them at the same time. Prints one
// line:
//
//     answered lost seconds
//
// A query is lost if the connection fails, or if the reply is wrong, has no answer or does not arrive within
// `patienceMilliseconds`.
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
    places = 8,
    lengthBytes = 2,
    maxReplyBytes = lengthBytes + 1232,
    patienceMilliseconds = 5000,
};

struct place {
    int descriptor; // -1: free
    int isConnecting;
    struct name_query query;
    size_t bytes;
    unsigned char reply[maxReplyBytes];
};

static struct place all[places];
static unsigned names, left;
static unsigned long answered, lost;
static struct sockaddr_in server;

static void fail(const char *what) {
    fprintf(stderr, "connection-load: %s: %s\n", what, strerror(errno));
    exit(1);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void begin(struct place *place) {
    left--;
    write_name_query(&place->query, (uint16_t)left, left % names);
    place->bytes = 0;
    place->isConnecting = 1;
    place->descriptor = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (place->descriptor < 0) fail("socket");
    if (connect(place->descriptor, (struct sockaddr *)&server, sizeof server) < 0 && errno != EINPROGRESS) {
        fail("connect");
    }
}

static void end(struct place *place, int isAnswered) {
    close(place->descriptor);
    place->descriptor = -1;
    if (isAnswered) answered++;
    else lost++;
}

static void ask(struct place *place) {
    unsigned char message[lengthBytes + maxNameQueryBytes] = {0, (unsigned char)place->query.bytes};
    memcpy(message + lengthBytes, place->query.packet, place->query.bytes);
    size_t bytes = lengthBytes + place->query.bytes;
    place->isConnecting = 0;
    if (send(place->descriptor, message, bytes, MSG_NOSIGNAL) != (ssize_t)bytes) end(place, 0);
}

static void take(struct place *place) {
    ssize_t count = recv(place->descriptor, place->reply + place->bytes, sizeof place->reply - place->bytes, 0);
    if (count <= 0) return end(place, 0);
    place->bytes += (size_t)count;
    size_t wanted = lengthBytes + (size_t)(place->reply[0] << 8 | place->reply[1]);
    if (place->bytes < lengthBytes || (place->bytes < wanted && place->bytes < sizeof place->reply)) return;
    const unsigned char *reply = place->reply + lengthBytes;
    end(place, place->bytes == wanted && memcmp(reply, place->query.packet, 2) == 0
                   && is_good_reply(reply, place->bytes - lengthBytes, &place->query));
}

// One turn of the loop; false after the last query.
static int turn(void) {
    struct pollfd waits[places];
    unsigned busy = 0;
    for (unsigned index = 0; index < places; index++) {
        if (all[index].descriptor < 0 && left > 0) begin(&all[index]);
        short event = all[index].isConnecting ? POLLOUT : POLLIN;
        waits[index] = (struct pollfd){.fd = all[index].descriptor, .events = event};
        busy += all[index].descriptor >= 0;
    }
    if (busy == 0) return 0;
    int isSilent = poll(waits, places, patienceMilliseconds) == 0;
    for (unsigned index = 0; index < places; index++) {
        struct place *place = &all[index];
        if (isSilent && place->descriptor >= 0) end(place, 0);
        else if (place->isConnecting && waits[index].revents) ask(place);
        else if (waits[index].revents) take(place);
    }
    return 1;
}

int main(int argc, char **argv) {
    if (argc != 4 || (names = (unsigned)atoi(argv[2])) == 0 || (left = (unsigned)atoi(argv[3])) == 0) {
        fprintf(stderr, "usage: connection-load PORT NAMES COUNT\n");
        return 3;
    }
    server = (struct sockaddr_in){
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)atoi(argv[1])),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    for (unsigned index = 0; index < places; index++) all[index].descriptor = -1;
    double began = seconds();
    while (turn()) continue;
    printf("%lu %lu %.6f\n", answered, lost, seconds() - began);
    return 0;
}
