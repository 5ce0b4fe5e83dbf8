#pragma once

#include <stddef.h>
#include <stdint.h>

// Allocations of the calling thread since it started; 0 for ever where the counter is compiled out.
uint64_t hd_thread_allocations(void);

// Whether the counter is compiled in: not under sanitizers, which have an allocator of their own.
int hd_counts_allocations(void);

// One call of malloc and one of free that no optimiser takes away.
void hd_allocate_once(void);

// What an allocation takes from the heap, with the allocator's own header (glibc: one word).
size_t hd_allocated_bytes(void *allocation);
