// OpenSSL's digests, ciphers and TLS for Crypto: wrappers for function-like macros, typed stacks and the union in
// GENERAL_NAME, and a callback in C, so that no callback enters Swift. Needs libssl-dev.
#pragma once
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/provider.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

static inline int copenssl_set_lowest_version(SSL_CTX *context, int version) {
    return (int)SSL_CTX_set_min_proto_version(context, version);
}

// Returns whether this OpenSSL has the group for key exchanges.
static inline int copenssl_has_group(const char *name) {
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    int known = context != NULL && SSL_CTX_set1_groups_list(context, name) == 1;
    SSL_CTX_free(context);
    ERR_clear_error();
    return known;
}

// Returns NULL before the handshake, and after one without a group. OpenSSL 3.0 would look into a missing session.
static inline const char *copenssl_group_name(SSL *tls) {
    if (SSL_get_session(tls) == NULL) return NULL;
    int group = (int)SSL_get_negotiated_group(tls);
    return group == NID_undef ? NULL : SSL_group_to_name(tls, group);
}

static inline void copenssl_keep_no_session(SSL_CTX *context) {
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
}

// Disables renegotiation, with which a server could demand one handshake after another.
static inline void copenssl_shake_hands_once(SSL_CTX *context) {
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION);
}

static inline void copenssl_release_idle_buffers(SSL_CTX *context) {
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
}

static inline int copenssl_accept_any_chain(X509_STORE_CTX *chain, void *context) {
    (void)chain;
    (void)context;
    return 1;
}

// Accepts every chain during the handshake; the caller verifies it afterwards.
static inline void copenssl_judge_later(SSL_CTX *context) {
    SSL_CTX_set_verify(context, SSL_VERIFY_NONE, NULL);
    SSL_CTX_set_cert_verify_callback(context, copenssl_accept_any_chain, NULL);
}

// Returns the number of loaded certificates. A certificate directory is searched only for missing ones.
static inline int copenssl_loaded_count(const X509_STORE *store) {
    return sk_X509_OBJECT_num(X509_STORE_get0_objects(store));
}

// Whether the directory has certificates under the names by which OpenSSL finds an issuer (eight hexadecimal digits and
// ".0", openssl-rehash(1)), at least `enough` of them.
static inline int copenssl_is_hashed(const char *path, int enough) {
    DIR *directory = opendir(path);
    if (directory == NULL) return 0;
    struct dirent *entry;
    while (enough > 0 && (entry = readdir(directory)) != NULL) {
        if (strspn(entry->d_name, "0123456789abcdef") != 8 || strcmp(entry->d_name + 8, ".0") != 0) continue;
        // A link may lead to a certificate that was removed.
        if (faccessat(dirfd(directory), entry->d_name, R_OK, 0) == 0) enough--;
    }
    closedir(directory);
    return enough <= 0;
}

// The system's certificate directory if the environment does not name other locations, else NULL.
static inline const char *copenssl_default_directory(void) {
    if (getenv(X509_get_default_cert_file_env()) || getenv(X509_get_default_cert_dir_env())) return NULL;
    return X509_get_default_cert_dir();
}

static inline int copenssl_set_server_name(SSL *tls, const char *name) {
    return (int)SSL_set_tlsext_host_name(tls, name);
}

// Makes the handshake fail unless the certificate is valid for this name or address. The subject is not a name (RFC
// 9525 section 2). Returns 1 for success.
static inline int copenssl_require_peer(SSL *tls, const char *name) {
    X509_VERIFY_PARAM *parameters = SSL_get0_param(tls);
    X509_VERIFY_PARAM_set_hostflags(
        parameters, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    if (X509_VERIFY_PARAM_set1_ip_asc(parameters, name) == 1) return 1;
    return X509_VERIFY_PARAM_set1_host(parameters, name, 0);
}

static inline GENERAL_NAMES *copenssl_alternative_names(const X509 *certificate) {
    return (GENERAL_NAMES *)X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
}

static inline int copenssl_name_count(const GENERAL_NAMES *names) { return sk_GENERAL_NAME_num(names); }

// Returns NULL if the name is of another kind, such as an address.
static inline const ASN1_STRING *copenssl_dns_name(const GENERAL_NAMES *names, int index) {
    const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, index);
    return name->type == GEN_DNS ? name->d.dNSName : NULL;
}

// Prints the name as "C = US, O = Let's Encrypt, CN = R3" in UTF-8. Returns a negative number on failure.
static inline int copenssl_print_name(BIO *buffer, const X509_NAME *name) {
    return X509_NAME_print_ex(buffer, name, 0, XN_FLAG_ONELINE & ~ASN1_STRFLGS_ESC_MSB);
}
