// libcurl and zlib for HTTPClient: the headers, typed wrappers for variadic functions and macros, and steps with types
// or flags that Swift cannot import: a close-on-exec socket, and the name check on OpenSSL's context. The other headers
// are for close(), inet_pton() and errno numbers. Needs libssl-dev and zlib1g-dev.
#pragma once
#include <arpa/inet.h>
#include <curl/curl.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zlib.h>

static inline CURLcode ccurl_set_long(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_set_off(CURL *easy, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_set_string(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_set_pointer(CURL *easy, CURLoption option, void *value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_set_bytes(CURL *easy, const void *bytes, curl_off_t count) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, count);
    return code != CURLE_OK ? code : curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, bytes);
}

static inline CURLcode ccurl_set_list(CURL *easy, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(easy, option, value);
}

// For CURLOPT_WRITEFUNCTION and CURLOPT_HEADERFUNCTION.
static inline CURLcode ccurl_set_receiver(CURL *easy, CURLoption option, curl_write_callback function) {
    return curl_easy_setopt(easy, option, function);
}

static inline CURLcode ccurl_set_socket_functions(
    CURL *easy, curl_opensocket_callback open, curl_closesocket_callback close, void *context) {
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, context);
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, close);
    return curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, context);
}

static inline CURLcode ccurl_get_long(CURL *easy, CURLINFO field, long *value) {
    return curl_easy_getinfo(easy, field, value);
}

static inline CURLcode ccurl_get_off(CURL *easy, CURLINFO field, curl_off_t *value) {
    return curl_easy_getinfo(easy, field, value);
}

// Returns lines "Name:value" about the server's certificate, valid as long as the transfer; NULL if there are none.
static inline const struct curl_slist *ccurl_leaf_certificate(CURL *easy) {
    struct curl_certinfo *chain = NULL;
    if (curl_easy_getinfo(easy, CURLINFO_CERTINFO, &chain) != CURLE_OK || chain == NULL) return NULL;
    return chain->num_of_certs < 1 ? NULL : chain->certinfo[0];
}

static inline CURLMcode ccurl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

static inline CURLMcode ccurl_multi_set_functions(
    CURLM *multi, curl_socket_callback sockets, curl_multi_timer_callback timer, void *context) {
    curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, sockets);
    curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, context);
    curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, timer);
    return curl_multi_setopt(multi, CURLMOPT_TIMERDATA, context);
}

static inline const curl_version_info_data *ccurl_version(void) { return curl_version_info(CURLVERSION_NOW); }

// SOCK_CLOEXEC keeps started programs from inheriting the connection. TCP_USER_TIMEOUT closes a connection whose peer
// acknowledges nothing for this time. Otherwise the kernel would retransmit for a quarter of an hour, and the next
// request could reuse it.
static inline curl_socket_t ccurl_open_socket(const struct curl_sockaddr *address, unsigned silence_milliseconds) {
    int descriptor = socket(address->family, address->socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, address->protocol);
    if (descriptor >= 0) {
        setsockopt(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &silence_milliseconds, sizeof silence_milliseconds);
    }
    return descriptor;
}

// Returns the local TCP port of a socket; 0 if it has none.
static inline int ccurl_local_port(int descriptor) {
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    if (getsockname(descriptor, (struct sockaddr *)&address, &length) != 0) return 0;
    if (address.ss_family == AF_INET) return ntohs(((struct sockaddr_in *)&address)->sin_port);
    return address.ss_family == AF_INET6 ? ntohs(((struct sockaddr_in6 *)&address)->sin6_port) : 0;
}

// State of a TCP connection in the kernel: bytes since it was opened, times in microseconds.
struct ccurl_tcp_progress {
    int is_established;
    uint64_t sent, acknowledged, received;
    uint32_t round_trip, round_trip_variation;
};

// Reads TCP_INFO. The offsets are those of struct tcp_info in linux/tcp.h, which conflicts with glibc's shorter struct
// in netinet/tcp.h: tcpi_rtt, tcpi_rttvar, tcpi_bytes_acked and tcpi_bytes_received (Linux 4.1). Returns 0 if the
// socket is not a TCP connection.
static inline int ccurl_read_progress(int descriptor, struct ccurl_tcp_progress *progress) {
    unsigned char info[136];
    int unacknowledged = 0;
    socklen_t length = sizeof info;
    if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, info, &length) != 0 || length < sizeof info) return 0;
    if (ioctl(descriptor, TIOCOUTQ, &unacknowledged) != 0) return 0;
    progress->is_established = info[0] == TCP_ESTABLISHED;
    memcpy(&progress->round_trip, info + 68, sizeof progress->round_trip);
    memcpy(&progress->round_trip_variation, info + 72, sizeof progress->round_trip_variation);
    memcpy(&progress->acknowledged, info + 120, sizeof progress->acknowledged);
    memcpy(&progress->received, info + 128, sizeof progress->received);
    progress->sent = progress->acknowledged + (uint64_t)unacknowledged;
    return 1;
}

// Returns the kernel's number of a socket, which no other socket has (SO_COOKIE, Linux 4.12); 0 if the descriptor is
// not a socket, or closed.
static inline uint64_t ccurl_socket_cookie(int descriptor) {
    uint64_t cookie = 0;
    socklen_t length = sizeof cookie;
    return getsockopt(descriptor, SOL_SOCKET, SO_COOKIE, &cookie, &length) == 0 ? cookie : 0;
}

// Returns the result of a finished transfer, from a union that Swift imports as a raw pointer.
static inline CURLcode ccurl_message_result(const CURLMsg *message) { return message->data.result; }

// Makes the handshake fail unless the certificate is valid for this name or address. The subject is not a name (RFC
// 9525 section 2).
static inline CURLcode ccurl_check_name(CURL *easy, void *context, void *name) {
    X509_VERIFY_PARAM *parameters = SSL_CTX_get0_param((SSL_CTX *)context);
    (void)easy;
    X509_VERIFY_PARAM_set_hostflags(
        parameters, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    if (X509_VERIFY_PARAM_set1_ip_asc(parameters, (const char *)name) == 1) return CURLE_OK;
    if (X509_VERIFY_PARAM_set1_host(parameters, (const char *)name, 0) == 1) return CURLE_OK;
    return CURLE_SSL_CERTPROBLEM;
}

// The name must stay valid for the duration of the transfer.
static inline CURLcode ccurl_set_verify_name(CURL *easy, const char *name) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_SSL_CTX_DATA, (void *)name);
    return code != CURLE_OK ? code : curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, ccurl_check_name);
}

enum { CCURL_GUNZIP_BROKEN = -1, CCURL_GUNZIP_TOO_LARGE = -2, CCURL_GUNZIP_NO_MEMORY = -3 };

// Returns the decoded size of a single gzip member, or an error.
static inline long ccurl_gunzip(const void *bytes, size_t count, void *room, size_t size) {
    z_stream stream = {
        .next_in = (Bytef *)bytes, .avail_in = (uInt)count, .next_out = room, .avail_out = (uInt)size};
    // Adding 16 makes zlib accept gzip only.
    if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK) return CCURL_GUNZIP_NO_MEMORY;
    int code = inflate(&stream, Z_FINISH);
    inflateEnd(&stream);
    if (code == Z_STREAM_END && stream.avail_in == 0) return (long)(size - stream.avail_out);
    if (code == Z_MEM_ERROR) return CCURL_GUNZIP_NO_MEMORY;
    return code == Z_BUF_ERROR && stream.avail_out == 0 ? CCURL_GUNZIP_TOO_LARGE : CCURL_GUNZIP_BROKEN;
}
