// Bounded queue from many threads to one reader, which can wait on a descriptor. Never blocks a writer and never drops
// an accepted message.

import CLinux
import Glibc
import Synchronization

package final class Mailbox<Message: Sendable>: Sendable {
    /// The posted messages. Their lock is held only to append or to swap.
    private let messages = Mutex<[Message]>([])
    private let wakeUp: FileDescriptor
    package let capacity: Int

    /// - Parameter capacity: maximum number of queued messages; at least 1.
    package init(capacity: Int) throws(SystemError) {
        precondition(capacity > 0, "a mailbox without room accepts nothing")
        self.capacity = capacity
        wakeUp = FileDescriptor(
            owning: try SystemCall.run("eventfd") { eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK)) })
    }

    /// The descriptor that is readable if there may be messages; for `EventLoop.watch`.
    package var descriptor: Int32 { wakeUp.raw }

    /// Whether a post can succeed. With a single writer, true stays true until its next post.
    package var hasRoom: Bool { messages.withLock { $0.count < capacity } }

    /// Appends as many messages as there is room for, in order. Wakes the reader if the mailbox was empty.
    ///
    /// - Returns: the number of accepted messages, counted from the first. The caller must refuse the rest.
    package func post(contentsOf batch: [Message]) -> Int {
        let (accepted, wasEmpty) = messages.withLock { messages in
            // `isEmpty` of an array of messages is generic code of the library.
            let wasEmpty = messages.count == 0
            let accepted = min(capacity - messages.count, batch.count)
            if wasEmpty, accepted == batch.count {
                messages = batch
            } else {
                messages.append(contentsOf: batch.prefix(accepted))
            }
            return (accepted, wasEmpty)
        }
        if accepted > 0, wasEmpty { wakeReader() }
        return accepted
    }

    /// - Returns: false if the mailbox is full.
    package func post(_ message: Message) -> Bool {
        post(contentsOf: [message]) == 1
    }

    /// Returns all queued messages in the order of posting. For the one reader.
    package func takeAll() -> [Message] {
        // Clear the signal before taking the messages: a message posted in between then causes at worst a needless
        // wake-up. In the other order its signal would be lost.
        var count: UInt64 = 0
        _ = unsafe read(wakeUp.raw, &count, MemoryLayout<UInt64>.size)
        var taken: [Message] = []
        messages.withLock { swap(&$0, &taken) }
        return taken
    }

    /// Cannot fail: each wake-up adds 1, and the counter's limit is 2^64 - 2.
    private func wakeReader() {
        var one: UInt64 = 1
        let written = unsafe write(wakeUp.raw, &one, MemoryLayout<UInt64>.size)
        precondition(written == MemoryLayout<UInt64>.size, "an eventfd refused a wake-up")
    }
}
