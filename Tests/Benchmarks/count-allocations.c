// Preloaded into a server by `scripts/bench`: counts its allocations, of all threads, in the eight bytes of the file
// named by ALLOCATION_COUNT_FILE, where they can be read at any time. Allocates as glibc does, and frees nothing.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static _Atomic uint64_t uncounted; // for what is allocated before the file is there
static _Atomic uint64_t *count = &uncounted;

__attribute__((constructor)) static void open_count(void) {
    const char *path = getenv("ALLOCATION_COUNT_FILE");
    if (path == NULL) return;
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, sizeof *count) < 0) _exit(127);
    void *shared = mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (shared == MAP_FAILED) _exit(127);
    close(file);
    count = shared;
}

static void add(void) { atomic_fetch_add_explicit(count, 1, memory_order_relaxed); }

void *malloc(size_t bytes) {
    add();
    return __libc_malloc(bytes);
}

void *calloc(size_t items, size_t bytes) {
    add();
    return __libc_calloc(items, bytes);
}

void *realloc(void *old, size_t bytes) {
    add();
    return __libc_realloc(old, bytes);
}

void *memalign(size_t alignment, size_t bytes) {
    add();
    return __libc_memalign(alignment, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }

int posix_memalign(void **result, size_t alignment, size_t bytes) {
    void *memory = memalign(alignment, bytes);
    if (memory == NULL) return ENOMEM;
    *result = memory;
    return 0;
}
