// Headers of rtnetlink and nf_tables, and constants for rtnetlink that <linux/rtnetlink.h> lacks: a flag of
// <linux/if.h>, which conflicts with the <net/if.h> that Glibc exports, and an option of router advertisements.
// CNetlink.c asserts the values.
#pragma once
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/rtnetlink.h>

enum {
    /// IFF_LOWER_UP: the driver has a carrier.
    clinux_link_lower_up = 1 << 16,
    /// PREF64 (RFC 8781, section 4), which no system header defines.
    clinux_option_pref64 = 38,
};
