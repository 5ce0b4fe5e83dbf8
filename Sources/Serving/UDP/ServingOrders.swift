// Orders from the main thread to a serving thread: stop, or confirm that it runs. A single descriptor, so that the
// thread waits for its sockets and one more.

import LinuxIO
import Synchronization

final class ServingOrders: Sendable {
    private enum Order {
        case stop, confirm
    }

    /// Room for one unanswered liveness check and a stop.
    private let orders: Mailbox<Order>
    private let asked = Atomic<UInt64>(0)
    private let answered = Atomic<UInt64>(0)

    init() throws(SystemError) {
        orders = try Mailbox(capacity: 2)
    }

    /// The descriptor is readable if there are orders.
    var descriptor: Int32 { orders.descriptor }

    /// Sends a liveness check unless the last one is unanswered. Main thread only, as all but `obey`.
    func checkLiveness() {
        guard isAnswered, orders.post(.confirm) else { return }
        asked.add(1, ordering: .relaxed)
    }

    var isAnswered: Bool { asked.load(ordering: .relaxed) == answered.load(ordering: .relaxed) }

    func stop() { _ = orders.post(.stop) }

    /// Carries out the orders, in the serving thread. Returns false if it must stop.
    func obey() -> Bool {
        for order in orders.takeAll() {
            switch order {
            case .stop: return false
            case .confirm: answered.add(1, ordering: .relaxed)
            }
        }
        return true
    }
}
