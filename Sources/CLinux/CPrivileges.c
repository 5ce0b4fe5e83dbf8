// This macro must precede the first include, and belongs in this file only.
#define _GNU_SOURCE
#include "CPrivileges.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

// glibc applies these calls to every thread of the process (nptl(7)); the bare system calls would not.
int clinux_become(uint32_t user, uint32_t group, const char **step) {
    *step = "setgroups";
    if (setgroups(0, NULL) != 0) return errno;
    *step = "setresgid";
    if (setresgid(group, group, group) != 0) return errno;
    *step = "setresuid";
    if (setresuid(user, user, user) != 0) return errno;
    return 0;
}

void clinux_bound_capabilities(void) {
    // Ends at EINVAL (no more capabilities) or EPERM (no CAP_SETPCAP). Without CAP_SETPCAP the bounding set has no
    // effect once no program can raise privileges.
    for (int capability = 0; prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0; capability++) continue;
}

int clinux_drop_capabilities(const char **step) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};
    *step = "prctl";
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
    // EINVAL: a kernel before 4.3 has no ambient capabilities.
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0 && errno != EINVAL) return errno;
    *step = "capset";
    if (syscall(SYS_capset, &header, none) != 0) return errno;
    return 0;
}

int clinux_keep_network_administration(uint32_t user, uint32_t group, const char **step) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    struct __user_cap_data_struct only[_LINUX_CAPABILITY_U32S_3] = {0};
    only[0].effective = only[0].permitted = 1U << CAP_NET_ADMIN;
    *step = "prctl";
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
    if (geteuid() == 0) {
        clinux_bound_capabilities();
        if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0) return errno;
        int code = clinux_become(user, group, step);
        if (code != 0) return code;
    }
    *step = "prctl";
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0 && errno != EINVAL) return errno;
    *step = "capset";
    if (syscall(SYS_capset, &header, only) != 0) return errno;
    clinux_hide_memory();
    return 0;
}

int clinux_has_capabilities(void) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    struct __user_cap_data_struct held[_LINUX_CAPABILITY_U32S_3] = {0};
    if (syscall(SYS_capget, &header, held) != 0) return 1;
    uint32_t any = 0;
    for (int part = 0; part < _LINUX_CAPABILITY_U32S_3; part++) {
        any |= held[part].effective | held[part].permitted | held[part].inheritable;
    }
    return any != 0;
}

void clinux_hide_memory(void) {
    // The value 2 (fs.suid_dumpable, prctl(2)) hides the memory too, and still lets root get a core dump.
    if (prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1) prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

int clinux_is_only(uint32_t user, uint32_t group) {
    uid_t users[3];
    gid_t groups[3];
    if (getresuid(&users[0], &users[1], &users[2]) != 0 || getresgid(&groups[0], &groups[1], &groups[2]) != 0) return 0;
    for (int kind = 0; kind < 3; kind++) {
        if (users[kind] != user || groups[kind] != group) return 0;
    }
    return getgroups(0, NULL) == 0;
}

int clinux_account(const char *name, uint32_t *user, uint32_t *group) {
    // More than any reasonable line of /etc/passwd.
    size_t bytes = 16 * 1024;
    char *buffer = malloc(bytes);
    if (buffer == NULL) return ENOMEM;
    struct passwd entry, *found = NULL;
    int code = getpwnam_r(name, &entry, buffer, bytes, &found);
    if (code == 0 && found != NULL) {
        *user = found->pw_uid;
        *group = found->pw_gid;
    }
    free(buffer);
    // Some user databases return one of these errors for an unknown user (getpwnam_r(3)).
    if (code == ENOENT || code == ESRCH || code == EBADF || code == EPERM) return -1;
    return code != 0 ? code : found == NULL ? -1 : 0;
}
