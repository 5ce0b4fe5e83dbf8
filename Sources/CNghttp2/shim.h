// libnghttp2 for HTTPClient: the header, and wrappers for what Swift cannot import. Needs libnghttp2-dev.
#pragma once
#include <nghttp2/nghttp2.h>

// The union in nghttp2_data_source.
static inline nghttp2_data_provider cnghttp2_body(void *context, nghttp2_data_source_read_callback read) {
    return (nghttp2_data_provider){.source = {.ptr = context}, .read_callback = read};
}
