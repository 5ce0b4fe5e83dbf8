// The floor of `scripts/bench hit`: what the kernel alone takes for a query and its reply, over the same system calls,
// batch size and socket options as httpdnsd, and with a reply as long as a real one (the query and one A record).
//
// It is not a DNS server: it reads nothing of the query, looks nothing up, and would answer a bomb with an echo.
// What a server takes above it is that server's own work.
//
//     echo-floor PORT
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum {
    batch = 32,                // as httpdnsd's DatagramBatch.capacity
    packetBytes = 2048,        // as httpdnsd's DatagramBatch.packetBytes
    recordBytes = 16,          // a compressed owner, type, class, TTL, length, and an IPv4 address
    receiveBufferBytes = 1 << 20,
    headerBytes = 12,
};

static struct mmsghdr datagrams[batch];
static struct iovec vectors[batch];
static struct sockaddr_in peers[batch];
static unsigned char packets[batch][packetBytes + recordBytes];

static void fail(const char *what) {
    fprintf(stderr, "echo-floor: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int open_socket(const char *port) {
    int descriptor = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) fail("socket");
    int one = 1, omit = IP_PMTUDISC_OMIT, room = receiveBufferBytes;
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons((unsigned short)atoi(port)),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    if (setsockopt(descriptor, SOL_SOCKET, SO_REUSEPORT, &one, sizeof one) < 0) fail("SO_REUSEPORT");
    if (setsockopt(descriptor, IPPROTO_IP, IP_MTU_DISCOVER, &omit, sizeof omit) < 0) fail("IP_MTU_DISCOVER");
    if (setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &room, sizeof room) < 0) fail("SO_RCVBUF");
    if (bind(descriptor, (struct sockaddr *)&address, sizeof address) < 0) fail("bind");
    return descriptor;
}

// Waits for the first datagram inside the call that takes it: cheaper than waiting apart, as one with several sockets
// must.
static int receive_batch(int descriptor) {
    for (int place = 0; place < batch; place++) {
        vectors[place].iov_base = packets[place];
        vectors[place].iov_len = packetBytes;
        datagrams[place].msg_hdr.msg_name = &peers[place];
        datagrams[place].msg_hdr.msg_namelen = sizeof peers[place];
        datagrams[place].msg_hdr.msg_iov = &vectors[place];
        datagrams[place].msg_hdr.msg_iovlen = 1;
    }
    int count = recvmmsg(descriptor, datagrams, batch, MSG_WAITFORONE, NULL);
    if (count < 0 && errno != EINTR) fail("recvmmsg");
    return count;
}

// Bytes that `packets` had before them follow the query, so a reply has the right length and no meaning.
static void make_replies(int count) {
    for (int place = 0; place < count; place++) {
        if (datagrams[place].msg_len >= headerBytes) packets[place][2] |= 0x80;
        vectors[place].iov_len = datagrams[place].msg_len + recordBytes;
    }
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: echo-floor PORT\n");
        return 3;
    }
    int descriptor = open_socket(argv[1]);
    for (;;) {
        int count = receive_batch(descriptor);
        make_replies(count);
        for (int sent = 0; sent < count;) {
            int now = sendmmsg(descriptor, datagrams + sent, (unsigned)(count - sent), MSG_DONTWAIT | MSG_NOSIGNAL);
            sent += now > 0 ? now : 1; // like httpdnsd: what can't be sent is dropped
        }
    }
}
