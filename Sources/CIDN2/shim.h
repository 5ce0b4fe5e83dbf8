// libidn2 for Settings: the header, for nothing in it needs a wrapper. Needs libidn2-dev.
#pragma once
#include <idn2.h>
