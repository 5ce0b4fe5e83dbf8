// What the main thread says to a serving thread: stop, or show that you are there. One descriptor, so that a thread
// that waits for packets waits for nothing more than that.

import LinuxIO
import Synchronization

final class ServingOrders: Sendable {
    private enum Order {
        case stop, look
    }

    /// One look that is not answered, and a stop.
    private let orders: Mailbox<Order>
    private let asked = Atomic<UInt64>(0)
    private let answered = Atomic<UInt64>(0)

    init() throws(SystemError) {
        orders = try Mailbox(capacity: 2)
    }

    /// Readable when there are orders.
    var descriptor: Int32 { orders.descriptor }

    /// In the main thread, as is all but `obey`. Nothing while the last look is not answered.
    func look() {
        guard isAnswered, orders.post(.look) else { return }
        asked.add(1, ordering: .relaxed)
    }

    var isAnswered: Bool { asked.load(ordering: .relaxed) == answered.load(ordering: .relaxed) }

    func stop() { _ = orders.post(.stop) }

    /// In the serving thread. False: it is to stop.
    func obey() -> Bool {
        for order in orders.takeAll() {
            switch order {
            case .stop: return false
            case .look: answered.add(1, ordering: .relaxed)
            }
        }
        return true
    }
}
