// Writes registered memory to a file: from any thread, or from a handler of crash signals, which must not allocate
// memory or take a lock.
#pragma once
#include <stddef.h>
#include <stdint.h>

/// Limits of the daemon's use: a header, a table of words, and a ring for each of up to 257 threads.
enum { clinux_max_record_parts = 260, clinux_max_record_header = 128 };

/// Memory that lives as long as the process.
struct clinux_record_part {
    const void *_Nonnull bytes;
    size_t count;
};

/// Data after the header, filled in when the file is written: the signal or 0, nanoseconds since boot, and microseconds
/// since 1970.
struct clinux_record_moment {
    int64_t signal;
    int64_t boot_nanoseconds;
    int64_t wall_microseconds;
};

/// Writes a new file with mode 0600: header, moment, parts. Does not follow symbolic links. Returns 0 or an error
/// number.
int clinux_write_records(
    const char *_Nonnull path, const void *_Nonnull header, size_t header_count,
    const struct clinux_record_part *_Nullable parts, size_t part_count, int64_t signal);

/// Registers the file for crash signals. The handler writes it, creates its directory if it is missing, and then lets
/// the signal end the process. A second call replaces the first; a path of NULL ends the registration. Returns 0 or an
/// error number.
int clinux_write_records_on_crash(
    const char *_Nullable path, const void *_Nullable header, size_t header_count,
    const struct clinux_record_part *_Nullable parts, size_t part_count);

/// Gives the calling thread a separate signal stack, because its own stack may have overflowed. Returns 0 or an error
/// number.
int clinux_use_crash_stack(void);
