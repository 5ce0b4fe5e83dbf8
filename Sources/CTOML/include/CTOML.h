// C interface of toml++: bytes in, a flat list of values out. Independent of the daemon's settings. No C++ exception
// leaves these functions. All results live as long as the document.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// More than any settings file needs, and small enough to hold several times in memory.
enum { ctoml_max_bytes = 1 << 20 };
/// toml++ recurses at every bracket and, when it frees, at every dot of a key. Settings need three levels.
enum { ctoml_max_depth = 16 };

typedef enum {
    ctoml_boolean,
    ctoml_integer,
    ctoml_float,
    ctoml_string,
    ctoml_date_or_time,
    ctoml_array,
    ctoml_table,
} ctoml_kind;

typedef struct {
    ctoml_kind kind;
    /// Key of this value in its parent; null for the root and for array elements.
    const char *key;
    size_t key_bytes;
    /// Strings only: UTF-8, which may contain NUL bytes.
    const char *text;
    size_t text_bytes;
    /// Integers; for booleans 0 or 1.
    int64_t integer;
    /// Floats only; may be infinite or NaN.
    double number;
    /// Arrays and tables: indices of their children in the list. Tables are in the order of their keys.
    size_t first_child;
    size_t child_count;
} ctoml_node;

/// Both count from 1; columns count characters, not bytes.
typedef struct {
    size_t line;
    size_t column;
} ctoml_place;

typedef struct {
    ctoml_place place;
    /// A constant that describes the error.
    const char *reason;
} ctoml_problem;

typedef struct ctoml_document ctoml_document;

/// Returns null if the bytes are not TOML, too many, or nested too deeply; `problem` then has the position and the
/// reason. The bytes must be valid UTF-8, and are not used after the call.
ctoml_document *ctoml_parse(const char *bytes, size_t count, ctoml_problem *problem);
void ctoml_free(ctoml_document *document);

/// The root table is the first node, and children follow their parents.
const ctoml_node *ctoml_nodes(const ctoml_document *document, size_t *count);

/// Position of a node's key, or of its value if its line has no key.
ctoml_place ctoml_key_place(const ctoml_document *document, size_t node);
ctoml_place ctoml_value_place(const ctoml_document *document, size_t node);

#ifdef __cplusplus
}
#endif
