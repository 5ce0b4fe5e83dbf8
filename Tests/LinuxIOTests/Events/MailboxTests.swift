// Values that one thread hands to another.

import Glibc
import LinuxIO
import Testing

struct MailboxTests {
    @Test func `messages come in order, once`() throws {
        let box = try Mailbox<Int>(capacity: 10)
        #expect(box.takeAll() == [])
        #expect(box.post(contentsOf: [1, 2, 3]) == 3)
        #expect(box.post(4))
        #expect(box.takeAll() == [1, 2, 3, 4])
        #expect(box.takeAll() == [])
    }

    @Test func `a full box takes what fits and refuses the rest`() throws {
        let box = try Mailbox<Int>(capacity: 3)
        #expect(box.post(contentsOf: [1, 2]) == 2)
        #expect(box.hasRoom)
        #expect(box.post(contentsOf: [3, 4, 5]) == 1)
        #expect(!box.post(6))
        #expect(!box.hasRoom)
        #expect(box.post(contentsOf: []) == 0)
        #expect(box.takeAll() == [1, 2, 3])
        #expect(box.post(7))
        #expect(box.takeAll() == [7])
    }

    @Test func `the descriptor is readable exactly while something waits`() throws {
        let box = try Mailbox<Int>(capacity: 3)
        #expect(!isReadable(box.descriptor))
        _ = box.post(1)
        _ = box.post(2)
        #expect(isReadable(box.descriptor))
        _ = box.takeAll()
        #expect(!isReadable(box.descriptor))
        #expect(box.post(contentsOf: []) == 0)
        #expect(!isReadable(box.descriptor))
    }

    @Test func `many writers lose nothing and never overfill, and the reader is always woken`() throws {
        let (writers, perWriter, capacity) = (4, 5_000, 64)
        let box = try Mailbox<(writer: Int, number: Int)>(capacity: capacity)
        let threads = try (0..<writers).map { writer in
            try Joining("writer-\(writer)") {
                var next = 0
                while next < perWriter {
                    let batch = (next..<min(next + 7, perWriter)).map { (writer, $0) }
                    let accepted = box.post(contentsOf: batch)
                    if accepted == 0 { sched_yield() }
                    next += accepted
                }
            }
        }
        var expected = [Int](repeating: 0, count: writers)
        var outOfOrder = 0
        var largest = 0
        var woken = true
        while woken, expected.contains(where: { $0 < perWriter }) {
            woken = becomesReady(box.descriptor)
            let messages = box.takeAll()
            largest = max(largest, messages.count)
            for message in messages {
                if message.number != expected[message.writer] { outOfOrder += 1 }
                expected[message.writer] += 1
            }
        }
        try #require(woken, "a wake-up was lost at \(expected)")
        threads.forEach { $0.join() }
        #expect(outOfOrder == 0)
        #expect((1...capacity).contains(largest))
        #expect(expected == [Int](repeating: perWriter, count: writers))
        #expect(box.takeAll().isEmpty)
    }

    private func isReadable(_ descriptor: Int32) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&entry, 1, 0) == 1
    }
}

/// A reference to a thread, because a noncopyable value cannot be in an array.
private final class Joining {
    private var thread: NamedThread?

    init(_ name: String, _ body: @escaping @Sendable () -> Void) throws {
        thread = try NamedThread(name, body)
    }

    func join() { thread.take()?.join() }
}
