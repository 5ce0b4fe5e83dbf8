// recvmmsg and sendmmsg, which glibc shows to GNU sources only, with structs of ours in the place of the kernel's
// (equal layout, asserted in CDatagrams.c), and the control messages that say which of our addresses was asked.
#pragma once
#include <stddef.h>

/// struct iovec
struct hd_vector {
    void *_Nullable bytes;
    size_t count;
};

/// struct msghdr
struct hd_header {
    void *_Nullable address;
    unsigned int address_length;
    struct hd_vector *_Nullable vectors;
    size_t vector_count;
    void *_Nullable control;
    size_t control_length;
    int flags;
};

/// struct mmsghdr
struct hd_datagram {
    struct hd_header header;
    unsigned int length;
};

/// What a control buffer must hold for one packet-information message of either family.
enum { hd_control_bytes = 48 };

/// Both return the number of messages, or -1 with errno. Neither waits.
int hd_receive_datagrams(int descriptor, struct hd_datagram *_Nonnull datagrams, unsigned int count);
int hd_send_datagrams(int descriptor, struct hd_datagram *_Nonnull datagrams, unsigned int count);

/// Turns the packet information that came with a datagram into the order to answer from the address that was asked.
/// The interface is left to routing, but for link-local IPv6 addresses, which mean nothing without it.
void hd_answer_from_asked_address(struct hd_header *_Nonnull header);
