// SQLite for Store: the header, and wrappers for what Swift cannot call (variadic functions, casts in macros). The
// small headers are for the file around the database: its lock, its mode, its name. Needs libsqlite3-dev.
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

// SQLITE_TRANSIENT: the bytes are copied before this returns.
static inline int csqlite_bind_blob(sqlite3_stmt *statement, int place, const void *bytes, int count) {
    return count == 0 ? sqlite3_bind_zeroblob(statement, place, 0)
                      : sqlite3_bind_blob(statement, place, bytes, count, SQLITE_TRANSIENT);
}

static inline int csqlite_bind_text(sqlite3_stmt *statement, int place, const char *text) {
    return sqlite3_bind_text(statement, place, text, -1, SQLITE_TRANSIENT);
}

// Defensive: the daemon's SQL may not write to the schema or the file format, and functions in a foreign schema
// (triggers, views, defaults) may not have side effects.
static inline int csqlite_distrust(sqlite3 *database) {
    int code = sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)0);
    return code != SQLITE_OK ? code : sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (int *)0);
}

// A regular file, made with this mode if it is missing; -1 and errno otherwise. Never through a symbolic link, never
// held by a FIFO.
static inline int csqlite_open_file(const char *path, unsigned mode) {
    int descriptor = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, mode);
    struct stat status;
    if (descriptor < 0) return -1;
    if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode)) return descriptor;
    close(descriptor);
    errno = EINVAL;
    return -1;
}

// A macro. To be read right after the call.
static inline int csqlite_errno(void) { return errno; }
