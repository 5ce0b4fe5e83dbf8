// The judgement of system call results.

import Glibc
import Testing

@testable import LinuxIO

struct SystemCallTests {
    @Test func `an interrupted call is made again`() throws {
        var calls = 0
        let result = try SystemCall.attempt("read") { () -> Int32 in
            calls += 1
            errno = EINTR
            return calls < 3 ? -1 : 7
        }
        #expect(result == 7)
        #expect(calls == 3)
    }

    @Test func `would-block is a value where it is expected and an error elsewhere`() throws {
        let blocked = { () -> Int in
            errno = EAGAIN
            return -1
        }
        #expect(try SystemCall.attempt("read", blocked) == nil)
        #expect(throws: SystemError(call: "open", code: EAGAIN)) { try SystemCall.run("open", blocked) }
    }

    @Test func `an error names its call, says it in words and gives its symbol`() {
        let error = SystemError(call: "bind", code: EADDRINUSE)
        #expect(error.description == "bind: Address already in use (EADDRINUSE)")
        #expect(SystemError(call: "bind", code: 9999).description == "bind: error 9999")
    }

    @Test func `a descriptor that is not open stops the process`() async {
        await #expect(processExitsWith: .failure) {
            let descriptor = FileDescriptor(owning: 1_000_000)
            _ = try? descriptor.localAddress()
            exit(EXIT_SUCCESS)
        }
    }

    @Test func `a bad address stops the process`() async {
        await #expect(processExitsWith: .failure) {
            _ = try? SystemCall.run("read") { () -> Int32 in
                errno = EFAULT
                return -1
            }
            exit(EXIT_SUCCESS)
        }
    }

    @Test func `an owner closes its descriptor when it goes`() throws {
        var ends: [Int32] = [0, 0]
        try #require(unsafe pipe(&ends) == 0)
        let reader = FileDescriptor(owning: ends[0])
        do { _ = FileDescriptor(owning: ends[1]) }
        // The read ends when the last writer has closed the pipe.
        let bytes = try unsafe SystemCall.bytes("read", maxBytes: 1) { unsafe read(reader.raw, $0, $1) }
        #expect(bytes == [])
    }
}
