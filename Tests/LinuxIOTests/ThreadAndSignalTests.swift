// Threads and signals. The test's own thread receives the signals, because other threads of this process do not block
// them.

import DNSWire
import Glibc
import Synchronization
import Testing

@testable import LinuxIO

struct ThreadAndSignalTests {
    @Test func `a thread runs under its name and has ended after join`() throws {
        let seen = Mutex("")
        let thread = try NamedThread("fifteen-letters") {
            let comm = (try? TextFile.read("/proc/thread-self/comm", maxBytes: 100)) ?? []
            seen.withLock { $0 = String(decoding: comm, as: UTF8.self) }
        }
        thread.join()
        #expect(seen.withLock { $0 } == "fifteen-letters\n")
    }

    @Test func `a thread that is blocked is left behind after the patience`() throws {
        var ends: [Int32] = [0, 0]
        #expect(unsafe pipe(&ends) == 0)
        let reader = ends[0]
        let blocked = try NamedThread("blocked") {
            var byte: UInt8 = 0
            _ = unsafe read(reader, &byte, 1)
            close(reader)
        }
        let isOver = blocked.join(within: .milliseconds(1))
        #expect(!isOver)
        close(ends[1])
        let done = try NamedThread("done") {}
        let isDone = done.join(within: .seconds(60))
        #expect(isDone)
    }

    @Test func `a thread that is not joined stops the process`() async {
        await #expect(processExitsWith: .failure) {
            do { _ = try NamedThread("forgotten") {} }
            exit(EXIT_SUCCESS)
        }
    }

    @Test func `a watched signal is read instead of taking effect`() throws {
        let outcome = Mutex<Result<[[Int32]], any Error>>(.success([]))
        let thread = try NamedThread("signalled") {
            let taken = Result {
                let watch = try SignalWatch([SIGUSR2, SIGWINCH])
                let before = try watch.takeSignals()
                pthread_kill(pthread_self(), SIGUSR2)
                pthread_kill(pthread_self(), SIGUSR2)
                pthread_kill(pthread_self(), SIGWINCH)
                let isReady = becomesReady(watch.descriptor)
                return [before, isReady ? try watch.takeSignals().sorted() : [], try watch.takeSignals()]
            }
            outcome.withLock { $0 = taken }
        }
        thread.join()
        #expect(try outcome.withLock { $0 }.get() == [[], [SIGUSR2, SIGWINCH].sorted(), []])
    }

    @Test func `a thread takes no signals but those of a crash, and its maker takes as many as before`() throws {
        let all = [
            SIGTERM, SIGINT, SIGHUP, SIGUSR2, SIGCHLD, SIGALRM, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS,
        ]
        let blocked = Mutex<[Int32]>([])
        let before = all.filter(isBlocked)
        let thread = try NamedThread("quiet") { blocked.withLock { $0 = all.filter(isBlocked) } }
        thread.join()
        #expect(blocked.withLock { $0 } == [SIGTERM, SIGINT, SIGHUP, SIGUSR2, SIGCHLD, SIGALRM])
        #expect(all.filter(isBlocked) == before)
    }

    @Test func `until it is watched a signal ends the process, and other signals wait meanwhile`() async {
        await #expect(processExitsWith: .success) {
            // The test's own thread may block the signal.
            var deadly = sigset_t()
            unsafe sigaddset(&deadly, SIGTERM)
            _ = unsafe pthread_sigmask(SIG_UNBLOCK, &deadly, nil)
            SignalWatch.endProcess(on: [SIGTERM])
            let watch = try SignalWatch([SIGHUP])
            pthread_kill(pthread_self(), SIGHUP)
            pthread_kill(pthread_self(), SIGTERM)
            withExtendedLifetime(watch) {}
            exit(EXIT_FAILURE)
        }
    }

    @Test func `once it is watched it is read, like those before`() async {
        await #expect(processExitsWith: .exitCode(77)) {
            SignalWatch.endProcess(on: [SIGTERM])
            let watch = try SignalWatch([SIGHUP])
            pthread_kill(pthread_self(), SIGHUP)
            try watch.add([SIGTERM])
            pthread_kill(pthread_self(), SIGTERM)
            let isReady = becomesReady(watch.descriptor)
            let taken = isReady ? try watch.takeSignals() : []
            exit(taken.sorted() == [SIGHUP, SIGTERM].sorted() ? 77 : 78)
        }
    }

    @Test func `a broken pipe is an error once it is ignored`() async {
        await #expect(processExitsWith: .exitCode(EPIPE)) {
            SignalWatch.ignoreBrokenPipes()
            var ends: [Int32] = [0, 0]
            precondition(unsafe pipe(&ends) == 0)
            close(ends[0])
            var byte: UInt8 = 0
            precondition(unsafe write(ends[1], &byte, 1) == -1)
            exit(errno)
        }
    }
}

private func isBlocked(_ signal: Int32) -> Bool {
    var set = sigset_t()
    _ = unsafe pthread_sigmask(SIG_BLOCK, nil, &set)
    return unsafe sigismember(&set, signal) == 1
}
