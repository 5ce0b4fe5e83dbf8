// libnftables for httpdnsd-nftset: the header, and the netlink socket that reports changes of the ruleset. Needs
// libnftables-dev.
#pragma once
#include <errno.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <nftables/libnftables.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

// A non-blocking socket that receives every change of the ruleset. Returns it, or a negative error number.
static inline int cnftables_monitor(void) {
    int monitor = socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_NETFILTER);
    if (monitor < 0) return -errno;
    // Holds the notifications of a request with the most elements, of which there are three for each. A failure costs
    // walks through the daemon's cache that are not needed.
    int bytes = 4 << 20;
    setsockopt(monitor, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes);
    struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = 1 << (NFNLGRP_NFTABLES - 1)};
    if (bind(monitor, (struct sockaddr *)&address, sizeof address) == 0) return monitor;
    int error = errno;
    close(monitor);
    return -error;
}

// The port ID of the netlink socket that this process has beside the monitor, which is the library's; 0: none yet.
static inline uint32_t cnftables_own_port(int monitor) {
    enum { most = 64 };
    for (int descriptor = 0; descriptor < most; descriptor++) {
        struct sockaddr_nl address = {0};
        socklen_t length = sizeof address;
        if (descriptor == monitor) continue;
        if (getsockname(descriptor, (struct sockaddr *)&address, &length) != 0) continue;
        if (address.nl_family == AF_NETLINK && address.nl_pid != 0) return address.nl_pid;
    }
    return 0;
}
