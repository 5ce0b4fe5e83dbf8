// OpenSSL's digests and ciphers for Crypto. All of it is functions and plain numbers, so no wrapper is needed. Needs
// libssl-dev.
#pragma once
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/provider.h>
