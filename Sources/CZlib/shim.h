// gzip bodies for HTTPClient: zlib's inflate with a macro that Swift cannot import. Needs zlib1g-dev.
#pragma once
#include <stddef.h>
#include <zlib.h>

enum { CZLIB_BROKEN = -1, CZLIB_TOO_LARGE = -2, CZLIB_NO_MEMORY = -3 };

// Returns the decoded size of a single gzip member, or an error.
static inline long czlib_gunzip(const void *bytes, size_t count, void *room, size_t size) {
    z_stream stream = {
        .next_in = (Bytef *)bytes, .avail_in = (uInt)count, .next_out = room, .avail_out = (uInt)size};
    // Adding 16 makes zlib accept gzip only.
    if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK) return CZLIB_NO_MEMORY;
    int code = inflate(&stream, Z_FINISH);
    inflateEnd(&stream);
    if (code == Z_STREAM_END && stream.avail_in == 0) return (long)(size - stream.avail_out);
    if (code == Z_MEM_ERROR) return CZLIB_NO_MEMORY;
    return code == Z_BUF_ERROR && stream.avail_out == 0 ? CZLIB_TOO_LARGE : CZLIB_BROKEN;
}
