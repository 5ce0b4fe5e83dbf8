// libpsl for PublicSuffix: the header only. Needs libpsl-dev.
#pragma once
#include <libpsl.h>
