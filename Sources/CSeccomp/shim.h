// libseccomp for Confinement: the header, and wrappers for function-like macros and variadic functions, which Swift
// cannot import. Needs libseccomp-dev.
#pragma once
#include <errno.h>
#include <seccomp.h>
#include <sched.h>
#include <stdint.h>

static inline scmp_filter_ctx cseccomp_allow_all(void) { return seccomp_init(SCMP_ACT_ALLOW); }

// Makes the call fail with this error.
static inline int cseccomp_refuse(scmp_filter_ctx filter, int call, int error) {
    return seccomp_rule_add(filter, SCMP_ACT_ERRNO((uint16_t)error), call, 0);
}

// The same, if the first argument has `value` in the bits of `mask`.
static inline int cseccomp_refuse_bits(scmp_filter_ctx filter, int call, uint64_t mask, uint64_t value, int error) {
    return seccomp_rule_add(filter, SCMP_ACT_ERRNO((uint16_t)error), call, 1, SCMP_A0(SCMP_CMP_MASKED_EQ, mask, value));
}

// The same, if the lower half of its second argument is this number. The kernel ignores the upper half.
static inline int cseccomp_refuse_second(scmp_filter_ctx filter, int call, uint32_t number, int error) {
    return seccomp_rule_add(
        filter, SCMP_ACT_ERRNO((uint16_t)error), call, 1, SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, number));
}

// Calls of another architecture, whose numbers have other meanings, end the whole process.
static inline int cseccomp_end_on_foreign(scmp_filter_ctx filter) {
    return seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
}

// CLONE_THREAD (GNU only): clone makes a thread and not a process.
static inline uint64_t cseccomp_thread_flag(void) { return 0x00010000; }
