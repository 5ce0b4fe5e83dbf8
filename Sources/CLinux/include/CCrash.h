// A file that is written from memory which is registered beforehand: by any thread, or by a handler of the signals
// that a crash raises, where nothing may be allocated and no lock taken.
#pragma once
#include <stddef.h>
#include <stdint.h>

/// As much as is written: a header, a table of words, and a ring for each of up to 257 threads.
enum { clinux_max_record_parts = 260, clinux_max_record_header = 128 };

/// Memory that lives as long as the process.
struct clinux_record_part {
    const void *_Nonnull bytes;
    size_t count;
};

/// What stands behind the header, filled in when the file is written: the signal or 0, nanoseconds since boot, and
/// microseconds since 1970.
struct clinux_record_moment {
    int64_t signal;
    int64_t boot_nanoseconds;
    int64_t wall_microseconds;
};

/// Makes a file anew, for its owner alone: header, moment, parts. Nothing follows a symbolic link. 0, or an error
/// number.
int clinux_write_records(
    const char *_Nonnull path, const void *_Nonnull header, size_t header_count,
    const struct clinux_record_part *_Nullable parts, size_t part_count, int64_t signal);

/// From now on a signal of a crash writes such a file, makes the folder of the file if there is none, and ends the
/// process as it would have without. Called again, the new file takes the place of the former one; a path of NULL ends
/// it. 0, or an error number.
int clinux_write_records_on_crash(
    const char *_Nullable path, const void *_Nullable header, size_t header_count,
    const struct clinux_record_part *_Nullable parts, size_t part_count);

/// Lets the calling thread's handlers run on a stack of their own: the thread's may be what has run out. 0, or an error
/// number.
int clinux_use_crash_stack(void);
