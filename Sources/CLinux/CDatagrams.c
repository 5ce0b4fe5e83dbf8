#define _GNU_SOURCE
#include "CDatagrams.h"

#include <assert.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>

static_assert(sizeof(struct hd_datagram) == sizeof(struct mmsghdr), "same layout as the kernel's struct");
static_assert(offsetof(struct hd_datagram, length) == offsetof(struct mmsghdr, msg_len), "same layout as the kernel's struct");
static_assert(CMSG_SPACE(sizeof(struct in6_pktinfo)) <= hd_control_bytes, "room for IPv6 packet information");
static_assert(CMSG_SPACE(sizeof(struct in_pktinfo)) <= hd_control_bytes, "room for IPv4 packet information");

int hd_receive_datagrams(int descriptor, struct hd_datagram *datagrams, unsigned int count) {
    return recvmmsg(descriptor, (struct mmsghdr *)datagrams, count, MSG_DONTWAIT, NULL);
}

int hd_send_datagrams(int descriptor, struct hd_datagram *datagrams, unsigned int count) {
    return sendmmsg(descriptor, (struct mmsghdr *)datagrams, count, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void hd_answer_from_asked_address(struct msghdr *header) {
    struct cmsghdr *control = CMSG_FIRSTHDR(header);
    if (control == NULL) {
        header->msg_control = NULL;
        header->msg_controllen = 0;
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
