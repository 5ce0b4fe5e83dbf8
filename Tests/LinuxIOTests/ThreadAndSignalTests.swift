// Threads and signals. Signals go to a thread of the test's own: others of this process do not block them.

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

    @Test func `threads started later block the same signals`() throws {
        let inherited = Mutex(false)
        let thread = try NamedThread("outer") {
            guard let watch = try? SignalWatch([SIGUSR2]) else { return }
            let inner = try? NamedThread("inner") {
                var set = sigset_t()
                _ = unsafe pthread_sigmask(SIG_BLOCK, nil, &set)
                inherited.withLock { $0 = unsafe sigismember(&set, SIGUSR2) == 1 }
            }
            inner?.join()
            withExtendedLifetime(watch) {}
        }
        thread.join()
        #expect(inherited.withLock { $0 })
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
