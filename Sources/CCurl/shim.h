// libcurl for HTTPClient: the header, and typed wrappers for the variadic setters that Swift cannot call.
#pragma once
#include <curl/curl.h>
