// libpsl for PublicSuffix: the header alone. Needs libpsl-dev.
#pragma once
#include <libpsl.h>
