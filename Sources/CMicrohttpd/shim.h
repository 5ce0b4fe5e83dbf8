// libmicrohttpd for the daemon's pages (web_) and for the lab (lab_): the header, and typed wrappers for variadic
// functions, which Swift cannot call.
#pragma once
#include <fcntl.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

// Leaves percent-encoding in URLs; the dialects decode it.
static inline size_t lab_keep_escapes(void *context, struct MHD_Connection *connection, char *text) {
    (void)context;
    (void)connection;
    return strlen(text);
}

// Starts a daemon with one thread per connection. `key` and `certificate` are PEM texts, both null for plain HTTP.
static inline struct MHD_Daemon *lab_start(unsigned int flags, const struct sockaddr *address,
                                           unsigned int connection_limit, MHD_AccessHandlerCallback answer,
                                           MHD_RequestCompletedCallback completed,
                                           MHD_NotifyConnectionCallback changed, void *context,
                                           const char *key, const char *certificate) {
    struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)key},
        {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)certificate},
        {MHD_OPTION_END, 0, NULL},
    };
    struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};
    return MHD_start_daemon(flags, 0, NULL, NULL, answer, context,
                            MHD_OPTION_SOCK_ADDR, address,
                            MHD_OPTION_CONNECTION_LIMIT, connection_limit,
                            MHD_OPTION_UNESCAPE_CALLBACK, lab_keep_escapes, NULL,
                            MHD_OPTION_NOTIFY_COMPLETED, completed, context,
                            MHD_OPTION_NOTIFY_CONNECTION, changed, context,
                            MHD_OPTION_ARRAY, key ? tls : none,
                            MHD_OPTION_END);
}

static inline unsigned int lab_port(struct MHD_Daemon *daemon) {
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT);
    return info ? info->port : 0;
}

static inline int mhd_socket(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

// Returns the state that the connection callback stored for this connection.
static inline void *lab_connection_state(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

// Lets a response have a wrong Content-Length, as from an HTTP/1.0 server. For HTTP/1.1 the library would send chunks
// instead.
static inline enum MHD_Result lab_allow_wrong_length(struct MHD_Response *response) {
    return MHD_set_response_options(
        response,
        (enum MHD_ResponseFlags)(MHD_RF_HTTP_1_0_COMPATIBLE_STRICT | MHD_RF_INSANITY_HEADER_CONTENT_LENGTH),
        MHD_RO_END);
}

// Decodes percent-encoding. A decoded NUL, at which the caller's text would end, becomes a byte that UTF-8 never has.
static inline size_t web_decode(void *context, struct MHD_Connection *connection, char *text) {
    (void)context;
    (void)connection;
    const size_t length = MHD_http_unescape(text);
    for (size_t at = 0; at < length; at++) {
        if (text[at] == 0) text[at] = (char)0xFF;
    }
    return length;
}

// Starts a daemon without threads and listening socket. The caller passes connections to it, and waits on its epoll
// descriptor.
static inline struct MHD_Daemon *web_start(unsigned int connection_limit, size_t connection_bytes,
                                           MHD_AccessHandlerCallback answer, MHD_NotifyConnectionCallback changed,
                                           void *context) {
    return MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL, answer, context,
                            MHD_OPTION_CONNECTION_LIMIT, connection_limit,
                            MHD_OPTION_CONNECTION_MEMORY_LIMIT, connection_bytes,
                            MHD_OPTION_STRICT_FOR_CLIENT, 1,
                            MHD_OPTION_UNESCAPE_CALLBACK, web_decode, NULL,
                            MHD_OPTION_NOTIFY_CONNECTION, changed, context,
                            MHD_OPTION_END);
}

static inline int web_epoll(struct MHD_Daemon *daemon) {
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
    return info ? info->epoll_fd : -1;
}

// Duplicates a connection's descriptor for MHD, which closes it; -1 with errno.
static inline int web_duplicate(int descriptor) { return fcntl(descriptor, F_DUPFD_CLOEXEC, 0); }

// Passes a connection to MHD, which closes it in any case. The API requires an address, which is not used here.
static inline bool web_add(struct MHD_Daemon *daemon, int descriptor) {
    const struct sockaddr_in no_address = {.sin_family = AF_INET};
    return MHD_add_connection(daemon, descriptor, (const struct sockaddr *)&no_address, sizeof no_address) == MHD_YES;
}

