// hiredis for Redis, and a reader that bounds arrays. Needs libhiredis-dev.
#pragma once
#include <hiredis/hiredis.h>

typedef void *(*chiredis_create_function)(const redisReadTask *, int);

// The function of hiredis; NULL without memory.
static inline chiredis_create_function chiredis_original(void) {
    static chiredis_create_function original;
    redisReader *reader = original == NULL ? redisReaderCreate() : NULL;
    if (reader != NULL) {
        original = reader->fn->createArray;
        redisReaderFree(reader);
    }
    return original;
}

// hiredis allocates an array before its elements come. No reply to a command of ours has more elements than this.
static inline void *chiredis_create_array(const redisReadTask *task, int count) {
    chiredis_create_function original = chiredis_original();
    return original != NULL && count <= 4096 ? original(task, count) : NULL;
}

// NULL without memory. A longer array ends as an error of the reader.
static inline redisReader *chiredis_reader(void) {
    static redisReplyObjectFunctions functions;
    redisReader *reader = redisReaderCreate();
    if (reader == NULL) return NULL;
    functions = *reader->fn;
    functions.createArray = chiredis_create_array;
    reader->fn = &functions;
    return reader;
}
