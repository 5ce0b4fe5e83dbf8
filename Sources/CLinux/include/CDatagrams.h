// recvmmsg and sendmmsg, which glibc shows to GNU sources only, with structs of ours in the place of the kernel's
// (equal layout, asserted in CDatagrams.c), and the control messages that say which of our addresses was asked.
#pragma once
#include <stddef.h>

/// struct iovec
struct clinux_vector {
    void *_Nullable bytes;
    size_t count;
};

/// struct msghdr
struct clinux_header {
    void *_Nullable address;
    unsigned int address_length;
    struct clinux_vector *_Nullable vectors;
    size_t vector_count;
    void *_Nullable control;
    size_t control_length;
    int flags;
};

/// struct mmsghdr
struct clinux_datagram {
    struct clinux_header header;
    unsigned int length;
};

/// What a control buffer must hold for one packet-information message of either family.
enum { clinux_control_bytes = 48 };

/// Both return the number of messages, or -1 with errno. Neither waits.
int clinux_receive_datagrams(int descriptor, struct clinux_datagram *_Nonnull datagrams, unsigned int count);
int clinux_send_datagrams(int descriptor, struct clinux_datagram *_Nonnull datagrams, unsigned int count);

/// Turns the packet information that came with a datagram into the order to answer from the address that was asked.
/// The interface is left to routing, but for link-local IPv6 addresses, which mean nothing without it.
void clinux_answer_from_asked_address(struct clinux_header *_Nonnull header);
