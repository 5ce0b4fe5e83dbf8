#include "CNetlink.h"

#include <linux/if.h>

_Static_assert(clinux_link_lower_up == IFF_LOWER_UP, "same value as the kernel's flag");
