// This macro must precede the first include, and belongs in this file only.
#define _GNU_SOURCE
#include "CDatagrams.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>

_Static_assert(sizeof(struct clinux_vector) == sizeof(struct iovec), "same layout as the kernel's struct");
_Static_assert(offsetof(struct clinux_vector, count) == offsetof(struct iovec, iov_len), "same layout");
_Static_assert(sizeof(struct clinux_header) == sizeof(struct msghdr), "same layout as the kernel's struct");
_Static_assert(offsetof(struct clinux_header, address_length) == offsetof(struct msghdr, msg_namelen), "same layout");
_Static_assert(offsetof(struct clinux_header, vectors) == offsetof(struct msghdr, msg_iov), "same layout");
_Static_assert(offsetof(struct clinux_header, vector_count) == offsetof(struct msghdr, msg_iovlen), "same layout");
_Static_assert(offsetof(struct clinux_header, control) == offsetof(struct msghdr, msg_control), "same layout");
_Static_assert(offsetof(struct clinux_header, control_length) == offsetof(struct msghdr, msg_controllen),
               "same layout");
_Static_assert(offsetof(struct clinux_header, flags) == offsetof(struct msghdr, msg_flags), "same layout");
_Static_assert(sizeof(struct clinux_datagram) == sizeof(struct mmsghdr), "same layout as the kernel's struct");
_Static_assert(offsetof(struct clinux_datagram, length) == offsetof(struct mmsghdr, msg_len), "same layout");
_Static_assert(CMSG_SPACE(sizeof(struct in6_pktinfo)) <= clinux_control_bytes, "room for IPv6 packet information");
_Static_assert(CMSG_SPACE(sizeof(struct in_pktinfo)) <= clinux_control_bytes, "room for IPv4 packet information");

int clinux_receive_datagrams(int descriptor, struct clinux_datagram *datagrams, unsigned int count) {
    return recvmmsg(descriptor, (struct mmsghdr *)datagrams, count, MSG_DONTWAIT, NULL);
}

int clinux_send_datagrams(int descriptor, struct clinux_datagram *datagrams, unsigned int count) {
    return sendmmsg(descriptor, (struct mmsghdr *)datagrams, count, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void clinux_answer_from_asked_address(struct clinux_header *header) {
    struct cmsghdr *control = CMSG_FIRSTHDR((struct msghdr *)header);
    if (control == NULL) {
        header->control = NULL;
        header->control_length = 0;
    } else if (control->cmsg_level == IPPROTO_IP && control->cmsg_type == IP_PKTINFO) {
        struct in_pktinfo *information = (struct in_pktinfo *)CMSG_DATA(control);
        information->ipi_ifindex = 0;
    } else if (control->cmsg_level == IPPROTO_IPV6 && control->cmsg_type == IPV6_PKTINFO) {
        struct in6_pktinfo *information = (struct in6_pktinfo *)CMSG_DATA(control);
        if (!IN6_IS_ADDR_LINKLOCAL(&information->ipi6_addr)) {
            information->ipi6_ifindex = 0;
        }
    }
}
