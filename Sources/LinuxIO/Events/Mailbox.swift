// Values from many threads to one: bounded, and the reader sleeps on a descriptor until there is something. It never
// blocks a writer and never drops what it accepted.

import CLinux
import Glibc
import Synchronization

package final class Mailbox<Message: Sendable>: Sendable {
    /// The lock protects the messages that are posted and not taken. Held only to append or to swap.
    private let messages = Mutex<[Message]>([])
    private let wakeUp: FileDescriptor
    package let capacity: Int

    /// - Parameter capacity: messages that may wait; at least 1.
    package init(capacity: Int) throws(SystemError) {
        precondition(capacity > 0, "a mailbox without room accepts nothing")
        self.capacity = capacity
        wakeUp = FileDescriptor(
            owning: try SystemCall.run("eventfd") { eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK)) })
    }

    /// Readable when there may be messages; for `EventLoop.watch`.
    package var descriptor: Int32 { wakeUp.raw }

    /// Stays true until the next post where one thread is the only writer.
    package var hasRoom: Bool { messages.withLock { $0.count < capacity } }

    /// Puts in as many as there is room for, in order, and wakes the reader if the box was empty.
    ///
    /// - Returns: how many were accepted, counted from the first; the rest is the caller's to refuse.
    package func post(contentsOf batch: some Collection<Message>) -> Int {
        let (accepted, wasEmpty) = messages.withLock { messages in
            let wasEmpty = messages.isEmpty
            let room = capacity - messages.count
            messages.append(contentsOf: batch.prefix(room))
            return (min(room, batch.count), wasEmpty)
        }
        if accepted > 0, wasEmpty { wakeReader() }
        return accepted
    }

    /// - Returns: false when the box is full.
    package func post(_ message: Message) -> Bool {
        post(contentsOf: CollectionOfOne(message)) == 1
    }

    /// Everything posted so far, in the order of posting. For the one reader.
    package func takeAll() -> [Message] {
        // First the signal, then the messages: a message posted in between is taken now, at worst with a wake-up
        // for nothing later. The other way round its signal would be lost.
        var count: UInt64 = 0
        _ = unsafe read(wakeUp.raw, &count, MemoryLayout<UInt64>.size)
        return messages.withLock { messages in
            let taken = messages
            messages = []
            return taken
        }
    }

    /// Cannot fail: the counter is far from its limit of 2^64 - 2, as each wake-up adds 1.
    private func wakeReader() {
        var one: UInt64 = 1
        let written = unsafe write(wakeUp.raw, &one, MemoryLayout<UInt64>.size)
        precondition(written == MemoryLayout<UInt64>.size, "an eventfd refused a wake-up")
    }
}
