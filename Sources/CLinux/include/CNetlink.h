// What rtnetlink speaks of beyond <linux/rtnetlink.h>: flags from <linux/if.h>, which cannot be included beside the
// <net/if.h> that Glibc shows, and an option of router advertisements. Values are asserted in CNetlink.c.
#pragma once
#include <linux/rtnetlink.h>

enum {
    /// IFF_LOWER_UP: the driver has a carrier.
    clinux_link_lower_up = 1 << 16,
    /// PREF64 (RFC 8781, section 4): no header of the system names it.
    clinux_option_translation_prefix = 38,
};
