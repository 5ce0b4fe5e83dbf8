// The system calls that the filter allows and refuses. Each test runs in a process of its own, because the filter
// cannot be removed.

import CSeccomp
import DNSWire
import Glibc
import LinuxIO
import Testing

@testable import Confinement

@Suite("System calls that are refused")
struct SystemCallFilterTests {
    @Test("other programs, processes, mounts and rights end in EPERM")
    func refused() async {
        await #expect(processExitsWith: .success) {
            try SystemCallFilter.begin()
            for name in [
                "execve", "fork", "vfork", "ptrace", "process_vm_readv", "mount", "unshare", "setns", "chroot",
            ] {
                #expect(errorOf(name) == EPERM, "\(name)")
            }
            for name in ["bpf", "keyctl", "io_uring_setup", "userfaultfd", "reboot", "setuid", "setgroups", "capset"] {
                #expect(errorOf(name) == EPERM, "\(name)")
            }
            // `clone` with flags of shared memory or of namespaces is refused; `clone3`, which glibc tries first for a
            // thread, does not exist.
            for flags in [0x4100, 0x100, 0x4000, 0x8000, 0x2_0000, 0x1000_0000, 0x4000_0000] {
                #expect(errorOf("clone", flags | 17) == EPERM, "\(flags)")
            }
            #expect(errorOf("clone3") == ENOSYS)
        }
    }

    @Test("every call of the list is refused where this machine has it")
    func everyCall() async {
        await #expect(processExitsWith: .success) {
            try SystemCallFilter.begin()
            for name in RefusedCalls.groups.flatMap(\.calls) where SystemCallFilter.number(of: name) != nil {
                #expect(errorOf(name) == EPERM, "\(name)")
            }
        }
    }

    @Test("nothing is typed into the terminal that root has started us from, and what a terminal is asked else is left")
    func terminal() async {
        await #expect(processExitsWith: .success) {
            try SystemCallFilter.begin()
            // There is no descriptor, so a call that reaches the kernel fails with EBADF.
            for request in [TIOCSTI, TIOCLINUX].map(Int.init) {
                #expect(errorOf("ioctl", -1, request) == EPERM)
                #expect(errorOf("ioctl", -1, request | 1 << 32) == EPERM)
            }
            for request in [TIOCGWINSZ, FIONREAD].map(Int.init) { #expect(errorOf("ioctl", -1, request) == EBADF) }
        }
    }

    #if arch(x86_64)
    @Test("a call by a number of another architecture ends the process, whichever thread makes it")
    func foreignNumbers() async {
        await #expect(processExitsWith: .signal(SIGSYS)) {
            try SystemCallFilter.begin()
            let thread = try NamedThread("foreign") {
                // x32's getpid.
                _ = errorOf(number: 0x4000_0000 | 39)
            }
            thread.join()
        }
    }
    #endif

    @Test("threads that were there are bound by it, too")
    func earlierThreads() async {
        await #expect(processExitsWith: .success) {
            let (gate, answers) = (try Mailbox<Void>(capacity: 1), try Mailbox<Bool>(capacity: 1))
            let thread = try NamedThread("earlier") {
                var waits = PollSet([gate.descriptor])
                try? waits.wait()
                _ = answers.post(errorOf("execve") == EPERM)
            }
            try SystemCallFilter.begin()
            _ = gate.post(())
            thread.join()
            #expect(answers.takeAll() == [true])
        }
    }

    @Test("threads, files and sockets are made as before")
    func left() async {
        await #expect(processExitsWith: .success) {
            try SystemCallFilter.begin()
            let answers = try Mailbox<Bool>(capacity: 1)
            let thread = try NamedThread("later") { _ = answers.post(true) }
            thread.join()
            #expect(answers.takeAll() == [true])
            #expect(try Trial.run(timeout: .seconds(60), maxGrowthBytes: 1 << 30) {} == .finished)
            // O_TMPFILE, which is defined for GNU sources only: a file without a name.
            let file = unsafe open("/tmp", 0o20_000_000 | O_DIRECTORY | O_RDWR, 0o600)
            #expect(file >= 0)
            let written = unsafe write(file, "x", 1)
            #expect(written == 1)
            for family in [AF_INET, AF_INET6, AF_UNIX] {
                let socket = socket(family, Int32(SOCK_DGRAM.rawValue), 0)
                #expect(socket >= 0 || errno == EAFNOSUPPORT)
            }
        }
    }

    @Test("no call is in the list that the library does not know, and none twice")
    func names() {
        let calls = RefusedCalls.groups.flatMap(\.calls)
        #expect(Set(calls).count == calls.count)
        for call in calls {
            // The value -1 means that no such name exists. Other negative values are system calls of other
            // architectures.
            #expect(unsafe seccomp_syscall_resolve_name(call) != -1, "\(call)")
        }
    }
}

/// Returns the error of a system call whose arguments are zero except for the first two; 0 if it succeeds. glibc has no
/// function for each of these calls.
private func errorOf(_ name: String, _ first: Int = 0, _ second: Int = 0) -> Int32 {
    guard let number = SystemCallFilter.number(of: name) else { return -1 }
    return errorOf(number: Int(number), first, second)
}

private func errorOf(number: Int, _ first: Int = 0, _ second: Int = 0) -> Int32 {
    typealias Call = @convention(c) (Int, Int, Int, Int, Int, Int, Int) -> Int
    guard let symbol = unsafe dlsym(nil, "syscall") else { return -1 }
    let call = unsafe unsafeBitCast(symbol, to: Call.self)
    return call(number, first, second, 0, 0, 0, 0) == -1 ? errno : 0
}
