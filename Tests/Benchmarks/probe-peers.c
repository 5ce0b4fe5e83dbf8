// The servers of `scripts/bench probe` that no real program plays, on loopback addresses:
//
//     probe-peers tarpits PORT COUNT
//     probe-peers slow PORT MILLISECONDS...
//
// Tarpits are at 127.9.1.1, 127.9.2.1 and so on: they accept, and then say nothing until the client goes. Slow ones
// are at 127.8.1.1, 127.8.1.2 and so on, each with its own delay, after which they pass everything to 127.8.0.1 and
// back. All are at the same port. Prints "ready" when all listen.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    maxListeners = 250,
    maxMilliseconds = 10000,
    chunkBytes = 16384,
    stackBytes = 65536, // for a thread with one chunk
    tarpit = -1,        // in place of a delay
};

/// One that listens, or a connection that came in by it.
struct peer {
    int descriptor;
    int milliseconds; // or `tarpit`
};

static struct peer listeners[maxListeners];
static unsigned count;
static uint16_t port;

static void fail(const char *what, const char *detail) {
    fprintf(stderr, "probe-peers: %s: %s\n", what, detail);
    exit(1);
}

static int number(const char *text, int most) {
    char *end;
    long value = strtol(text, &end, 10);
    if (*text == 0 || *end != 0 || value <= 0 || value > most) fail("not a usable number", text);
    return (int)value;
}

static struct sockaddr_in address(unsigned second, unsigned third, unsigned last) {
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons(port),
                                .sin_addr.s_addr = htonl(127u << 24 | second << 16 | third << 8 | last)};
}

static void listen_at(struct sockaddr_in at, int milliseconds) {
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
    if (descriptor < 0 || setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) < 0
        || bind(descriptor, (struct sockaddr *)&at, sizeof at) < 0 || listen(descriptor, SOMAXCONN) < 0)
        fail("listen", strerror(errno));
    listeners[count++] = (struct peer){descriptor, milliseconds};
}

// MARK: one connection

// Forwards bytes from one side to the other. Returns 0 at the end of the stream, or if the other side takes no more.
static int pass(int from, int to) {
    char chunk[chunkBytes];
    ssize_t bytes = recv(from, chunk, sizeof chunk, 0), sent = 0;
    while (bytes > 0 && sent < bytes) {
        ssize_t more = send(to, chunk + sent, (size_t)(bytes - sent), MSG_NOSIGNAL);
        if (more < 0) return 0;
        sent += more;
    }
    return bytes > 0;
}

static void pass_all(int client) {
    struct sockaddr_in target = address(8, 0, 1);
    int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (server >= 0 && connect(server, (struct sockaddr *)&target, sizeof target) == 0) {
        struct pollfd both[] = {{.fd = client, .events = POLLIN}, {.fd = server, .events = POLLIN}};
        int isOpen = 1;
        while (isOpen && poll(both, 2, -1) > 0) {
            if (both[0].revents != 0) isOpen = pass(client, server);
            if (isOpen && both[1].revents != 0) isOpen = pass(server, client);
        }
    }
    if (server >= 0) close(server);
}

static void *serve(void *argument) {
    struct peer connection = *(struct peer *)argument;
    char chunk[1024];
    free(argument);
    if (connection.milliseconds == tarpit) {
        while (recv(connection.descriptor, chunk, sizeof chunk, 0) > 0) continue;
    } else {
        struct timespec delay = {.tv_sec = connection.milliseconds / 1000,
                                 .tv_nsec = connection.milliseconds % 1000 * 1000000L};
        nanosleep(&delay, NULL);
        pass_all(connection.descriptor);
    }
    close(connection.descriptor);
    return NULL;
}

static void accept_one(const struct peer *listener, const pthread_attr_t *attributes) {
    pthread_t thread;
    int descriptor = accept4(listener->descriptor, NULL, NULL, SOCK_CLOEXEC);
    if (descriptor < 0) return; // gone meanwhile
    struct peer *connection = malloc(sizeof *connection);
    if (connection == NULL) fail("malloc", strerror(errno));
    *connection = (struct peer){descriptor, listener->milliseconds};
    if (pthread_create(&thread, attributes, serve, connection) != 0) fail("thread", strerror(errno));
}

int main(int argumentCount, char **arguments) {
    int areTarpits = argumentCount == 4 && strcmp(arguments[1], "tarpits") == 0;
    if (!areTarpits && (argumentCount < 4 || strcmp(arguments[1], "slow") != 0))
        fail("usage", "probe-peers tarpits PORT COUNT, or slow PORT MILLISECONDS...");
    port = (uint16_t)number(arguments[2], UINT16_MAX);
    if (areTarpits) {
        unsigned wanted = (unsigned)number(arguments[3], maxListeners);
        while (count < wanted) listen_at(address(9, count + 1, 1), tarpit);
    } else {
        for (int index = 3; index < argumentCount; index++)
            listen_at(address(8, 1, count + 1), number(arguments[index], maxMilliseconds));
    }
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, stackBytes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    printf("ready\n");
    fflush(stdout);
    for (;;) {
        struct pollfd polled[maxListeners];
        for (unsigned index = 0; index < count; index++)
            polled[index] = (struct pollfd){.fd = listeners[index].descriptor, .events = POLLIN};
        if (poll(polled, count, -1) < 0 && errno != EINTR) fail("poll", strerror(errno));
        for (unsigned index = 0; index < count; index++)
            if (polled[index].revents != 0) accept_one(&listeners[index], &attributes);
    }
}
