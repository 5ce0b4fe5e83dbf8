// Code that ends or stops a process, run in a copy of the process.

import DNSWire
import Glibc
import LinuxIO
import Testing

struct TrialTests {
    private func outcome(timeout: Duration = .seconds(60), _ code: () -> Void) throws -> Trial.Outcome {
        try Trial.run(timeout: timeout, maxGrowthBytes: 64 << 20, code)
    }

    @Test("what the code does to the copy's memory is lost")
    func finished() throws {
        var number = 1
        #expect(try outcome { number = 2 } == .finished)
        #expect(number == 1)
    }

    @Test("a crash ends the copy alone", arguments: [SIGABRT, SIGSEGV, SIGILL, SIGTERM, SIGXCPU])
    func crashed(signal: Int32) throws {
        #expect(try outcome { _ = kill(getpid(), signal) } == .crashed(signal: signal))
    }

    @Test("the copy is killed when it takes too long")
    func unfinished() throws {
        #expect(try outcome(timeout: .milliseconds(50)) { while true { _ = pause() } } == .unfinished)
    }

    @Test("memory beyond the limit is refused to the copy")
    func memory() throws {
        let outcome = try outcome {
            // The compiler may remove a call of malloc.
            let memory = unsafe mmap(nil, 128 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
            if unsafe memory == MAP_FAILED { _ = kill(getpid(), SIGABRT) }
        }
        #expect(outcome == .crashed(signal: SIGABRT))
    }
}
