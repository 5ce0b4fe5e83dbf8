// Rights of the process: what Glibc's module leaves out, and kernel calls without a wrapper in glibc.
#pragma once

#include <stdint.h>

/// Ends every right of root but those of the user and group given, for good, in all threads: supplementary groups,
/// group, user. 0, or an error number; `step` then names the call.
int clinux_become(uint32_t user, uint32_t group, const char *_Nullable *_Nonnull step);

/// Takes every capability that it may from what programs could ever get again (the bounding set).
void clinux_bound_capabilities(void);

/// No capability is left in this thread, nor comes back with a program that is started (PR_SET_NO_NEW_PRIVS). 0, or an
/// error number; `step` then names the call.
int clinux_drop_capabilities(const char *_Nullable *_Nonnull step);

/// 0 when this thread has no capability, neither in force nor to be had.
int clinux_has_capabilities(void);

/// Refuses ptrace(2) and /proc/PID/mem to every process without CAP_SYS_PTRACE.
void clinux_hide_memory(void);

/// 1 when the process is that user and group, by every kind of number, and in no other group.
int clinux_is_only(uint32_t user, uint32_t group);

/// The user's number and first group by its name, from the system's user database. 0, an error number, or -1 where
/// there is no such user.
int clinux_account(const char *_Nonnull name, uint32_t *_Nonnull user, uint32_t *_Nonnull group);
