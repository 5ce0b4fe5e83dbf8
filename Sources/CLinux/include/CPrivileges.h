// Privileges of the process: calls that the Glibc module lacks, and system calls without a wrapper in glibc.
#pragma once

#include <stdint.h>

/// Changes user, group and supplementary groups permanently in all threads. Returns 0 or an error number; `step` then
/// names the failed call.
int clinux_become(uint32_t user, uint32_t group, const char *_Nullable *_Nonnull step);

/// Drops every capability from the bounding set if permitted, so that no program can regain it.
void clinux_bound_capabilities(void);

/// Drops all capabilities of this thread, and prevents started programs from gaining any (PR_SET_NO_NEW_PRIVS). Returns
/// 0 or an error number; `step` then names the failed call.
int clinux_drop_capabilities(const char *_Nullable *_Nonnull step);

/// Keeps CAP_NET_ADMIN of all capabilities, permanently; root becomes this user before. Returns 0 or an error number,
/// EPERM without the capability; `step` then names the failed call.
int clinux_keep_network_administration(uint32_t user, uint32_t group, const char *_Nullable *_Nonnull step);

/// Returns 0 if this thread has no effective, permitted or inheritable capability.
int clinux_has_capabilities(void);

/// Denies ptrace(2) and /proc/PID/mem to every process without CAP_SYS_PTRACE.
void clinux_hide_memory(void);

/// Returns 1 if the real, effective and saved IDs are this user and group, and there is no supplementary group.
int clinux_is_only(uint32_t user, uint32_t group);

/// Looks up a user's ID and primary group in the user database. Returns 0, an error number, or -1 if there is no such
/// user.
int clinux_account(const char *_Nonnull name, uint32_t *_Nonnull user, uint32_t *_Nonnull group);
