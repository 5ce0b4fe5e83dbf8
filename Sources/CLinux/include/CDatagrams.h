// recvmmsg and sendmmsg, which glibc declares for GNU sources only, with structs of the same layout as the kernel's
// (asserted in CDatagrams.c), and the control messages with a packet's destination address.
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

/// Size of a control buffer for one packet-information message of either family.
enum { clinux_control_bytes = 48 };

/// Both return the number of messages, or -1 with errno. Neither blocks.
int clinux_receive_datagrams(int descriptor, struct clinux_datagram *_Nonnull datagrams, unsigned int count);
int clinux_send_datagrams(int descriptor, struct clinux_datagram *_Nonnull datagrams, unsigned int count);

/// Turns the packet information of a received datagram into a control message that makes the reply leave from the same
/// address. Routing selects the interface, except for link-local IPv6 addresses, which are ambiguous without it.
void clinux_answer_from_asked_address(struct clinux_header *_Nonnull header);
