// libmicrohttpd for the lab: the header, and typed wrappers for what Swift cannot call: variadic functions.
#pragma once
#include <microhttpd.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

// Leaves the escapes of a URL as they came: the dialects decode them.
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

static inline int lab_socket(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

// What the callback for connections has put aside for this one.
static inline void *lab_connection_state(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

// Lets a response carry a Content-Length that is not its body's: as of an HTTP/1.0 server, because chunks would come
// in its place.
static inline enum MHD_Result lab_allow_wrong_length(struct MHD_Response *response) {
    return MHD_set_response_options(
        response,
        (enum MHD_ResponseFlags)(MHD_RF_HTTP_1_0_COMPATIBLE_STRICT | MHD_RF_INSANITY_HEADER_CONTENT_LENGTH),
        MHD_RO_END);
}
