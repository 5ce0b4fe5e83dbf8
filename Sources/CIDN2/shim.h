// libidn2 for Settings: the header only; it needs no wrapper. Needs libidn2-dev.
#pragma once
#include <idn2.h>
