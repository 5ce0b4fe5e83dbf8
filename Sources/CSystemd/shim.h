// libsystemd for LinkDNS: the client of the system bus. Needs libsystemd-dev.
#pragma once
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <systemd/sd-bus.h>

// The constant has a cast, which Swift cannot import.
static inline uint64_t csystemd_no_timeout(void) { return UINT64_MAX; }
