// libmicrohttpd for the lab: the header, and typed wrappers for what Swift cannot call.
#pragma once
#include <microhttpd.h>
