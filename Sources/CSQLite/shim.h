// SQLite for Store: the header, and wrappers for variadic functions and casts in macros, which Swift cannot import. The
// other headers are for the database file: its lock, mode and name. Needs libsqlite3-dev.
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

// SQLITE_TRANSIENT makes SQLite copy the bytes.
static inline int csqlite_bind_blob(sqlite3_stmt *statement, int place, const void *bytes, int count) {
    return count == 0 ? sqlite3_bind_zeroblob(statement, place, 0)
                      : sqlite3_bind_blob(statement, place, bytes, count, SQLITE_TRANSIENT);
}

static inline int csqlite_bind_text(sqlite3_stmt *statement, int place, const char *text) {
    return sqlite3_bind_text(statement, place, text, -1, SQLITE_TRANSIENT);
}

// Defensive mode: SQL may not write to the schema or the file format, and functions in a foreign schema (triggers,
// views, defaults) may not have side effects.
static inline int csqlite_distrust(sqlite3 *database) {
    int code = sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)0);
    return code != SQLITE_OK ? code : sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (int *)0);
}

// Opens a regular file, created with this mode if it is missing; -1 and errno otherwise. Follows no symbolic link at
// the end of the path, and does not block on a FIFO.
static inline int csqlite_open_file(const char *path, unsigned mode) {
    int descriptor = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, mode);
    struct stat status;
    if (descriptor < 0) return -1;
    if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode)) return descriptor;
    close(descriptor);
    errno = EINVAL;
    return -1;
}

// errno is a macro. Read it right after the call.
static inline int csqlite_errno(void) { return errno; }
