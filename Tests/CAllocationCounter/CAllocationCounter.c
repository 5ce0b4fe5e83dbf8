// Counts allocations per thread by standing before glibc's allocator. For tests only; under sanitizers it is nothing.

#include "CAllocationCounter.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define HD_SANITIZED 1
#endif
#endif

static _Thread_local uint64_t allocations;

uint64_t hd_thread_allocations(void) { return allocations; }

void hd_allocate_once(void) {
    void *volatile allocation = malloc(1);
    free(allocation);
}

size_t hd_allocated_bytes(void *allocation) { return malloc_usable_size(allocation) + sizeof(size_t); }

#ifdef HD_SANITIZED

int hd_counts_allocations(void) { return 0; }

#else

int hd_counts_allocations(void) { return 1; }

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size) {
    allocations++;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    allocations++;
    return __libc_calloc(count, size);
}

void *realloc(void *old, size_t size) {
    allocations++;
    return __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    allocations++;
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **result, size_t alignment, size_t size) {
    if (alignment < sizeof(void *) || (alignment & (alignment - 1)) != 0) return EINVAL;
    allocations++;
    void *allocation = __libc_memalign(alignment, size);
    if (allocation == NULL) return ENOMEM;
    *result = allocation;
    return 0;
}

#endif
