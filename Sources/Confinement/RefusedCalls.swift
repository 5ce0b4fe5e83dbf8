// System calls that a serving daemon does not need, with the reason why each would help an attacker that has taken it
// over. Names only, as in syscalls(2).

enum RefusedCalls {
    struct Group {
        let reason: String
        let calls: [String]
    }

    static let groups = [
        Group(
            reason: "starting a program: the daemon starts none",
            calls: ["execve", "execveat", "fork", "vfork", "uselib"]),
        Group(
            reason: "other processes: what they hold in memory and in open files",
            calls: [
                "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "kcmp", "pidfd_getfd",
                "pidfd_open", "perf_event_open", "lookup_dcookie",
            ]),
        Group(
            reason: "another view of files than the sandbox gives",
            calls: [
                "mount", "umount", "umount2", "mount_setattr", "move_mount", "open_tree", "fsopen", "fsconfig",
                "fsmount", "fspick", "pivot_root", "chroot", "unshare", "setns", "open_by_handle_at", "fanotify_init",
                "mknod", "mknodat",
            ]),
        Group(
            reason: "code in the kernel, and its parts that many ways out of a sandbox led through",
            calls: [
                "kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "bpf", "userfaultfd",
                "io_uring_setup", "io_uring_enter", "io_uring_register", "add_key", "request_key", "keyctl", "vm86",
                "vm86old", "modify_ldt", "iopl", "ioperm", "personality",
            ]),
        Group(
            reason: "the whole machine: its clock, its name, its swap, its end",
            calls: [
                "reboot", "swapon", "swapoff", "settimeofday", "clock_settime", "clock_settime64", "clock_adjtime",
                "clock_adjtime64", "adjtimex", "stime", "sethostname", "setdomainname", "acct", "quotactl",
                "quotactl_fd", "syslog", "vhangup", "nfsservctl",
            ]),
        Group(
            reason: "rights that were given up",
            calls: [
                "setuid", "setgid", "setreuid", "setregid", "setresuid", "setresgid", "setfsuid", "setfsgid",
                "setgroups", "setuid32", "setgid32", "setreuid32", "setregid32", "setresuid32", "setresgid32",
                "setfsuid32", "setfsgid32", "setgroups32", "capset",
            ]),
    ]

    /// Terminal requests that inject input as if typed: root's shell may read it on the terminal that started the
    /// daemon. TIOCSTI, and TIOCLINUX, which pastes, of asm-generic/ioctls.h.
    static let device = "ioctl"
    static let typing: [UInt32] = [0x5412, 0x541C]

    /// The call that makes threads, and copies of the process, in which the daemon tries a settings file. A process
    /// with any of these flags (linux/sched.h) is refused: it shares memory with the daemon (CLONE_VM, CLONE_VFORK), is
    /// its sibling (CLONE_PARENT), or has namespaces of its own (CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER,
    /// NEWPID, NEWNET).
    static let process = "clone"
    static let processFlags: [UInt64] = [
        0x0000_0100, 0x0000_4000, 0x0000_8000, 0x0002_0000, 0x0200_0000, 0x0400_0000, 0x0800_0000, 0x1000_0000,
        0x2000_0000, 0x4000_0000,
    ]
    /// The call whose flags are in memory, which no filter can read. It fails as if the kernel lacked it, so that glibc
    /// uses `clone`.
    static let unfiltered = "clone3"
}
