// recvmmsg and sendmmsg, which glibc shows to GNU sources only, with a struct of ours in the place of theirs
// (equal layout, asserted in CDatagrams.c), and the control messages that say which of our addresses was asked.
#pragma once
#include <stddef.h>
#include <sys/socket.h>

struct hd_datagram {
    struct msghdr header;
    unsigned int length;
};

// What a control buffer must hold for one packet-information message of either family.
enum { hd_control_bytes = 48 };

// Both return the number of messages, or -1 with errno. Receiving never waits.
int hd_receive_datagrams(int descriptor, struct hd_datagram *datagrams, unsigned int count);
int hd_send_datagrams(int descriptor, struct hd_datagram *datagrams, unsigned int count);

// Turns the packet information that came with a datagram into the order to answer from the address that was asked.
// The interface is left to routing, but for link-local IPv6 addresses, which mean nothing without it.
void hd_answer_from_asked_address(struct msghdr *header);
