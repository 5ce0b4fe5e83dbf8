// hiredis for Redis: the header only. Needs libhiredis-dev.
#pragma once
#include <hiredis/hiredis.h>
