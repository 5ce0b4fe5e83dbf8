// toml11 behind a few C functions: bytes in, a flat list of values out. Nothing here knows what a setting is.
// No C++ exception leaves these functions, and everything a document hands out lives as long as the document.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Far more than any settings file needs, and little enough to hold in memory several times over.
enum { ctoml_max_bytes = 1 << 20 };
/// toml11 looks back to the start of the line at every value, so its time grows with the square of a line.
enum { ctoml_max_line_bytes = 4096 };
/// toml11 recurses at every bracket and, when it frees, at every dot of a key; settings need three levels.
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
    /// The name under which the parent holds this value; null for the root and for elements of arrays.
    const char *key;
    size_t key_bytes;
    /// Strings only: UTF-8 that may hold NUL bytes.
    const char *text;
    size_t text_bytes;
    /// Integers; for booleans 0 or 1.
    /// Integers; for booleans 0 or 1.
    int64_t integer;
    /// Floats only; may be infinite or no number.
    double number;
    /// Arrays and tables: where their children stand in the list. Tables are in the order of their keys.
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
    /// A constant; what is wrong at the place.
    const char *reason;
} ctoml_problem;

typedef struct ctoml_document ctoml_document;

/// Null when the bytes are no TOML, too many, or nested too deeply; then `problem` says where and why.
/// The bytes must be valid UTF-8 and need not live on.
ctoml_document *ctoml_parse(const char *bytes, size_t count, ctoml_problem *problem);
void ctoml_free(ctoml_document *document);

/// The root table is the first node, and children follow their parents.
const ctoml_node *ctoml_nodes(const ctoml_document *document, size_t *count);

/// Where the key of a node stands, or its value if it has none on its line.
ctoml_place ctoml_key_place(const ctoml_document *document, size_t node);
ctoml_place ctoml_value_place(const ctoml_document *document, size_t node);

#ifdef __cplusplus
}
#endif
