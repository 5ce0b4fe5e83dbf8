// The N serving threads: started together, stopped and joined together.

import AnswerCache
import LinuxIO
import Telemetry

final class ServingThreads {
    private let telemetry: [ThreadTelemetry]
    private let sockets: [DatagramSocket]
    private var running: [Running] = []

    /// A thread can't be held in an array by itself: it must be joined exactly once.
    private final class Running {
        let orders: ServingOrders
        var thread: NamedThread?

        init(_ thread: consuming NamedThread, _ orders: ServingOrders) {
            self.orders = orders
            self.thread = consume thread
        }
    }

    /// All of them serve when this returns.
    ///
    /// - Parameters:
    ///   - sockets: a thread's sockets, thread by thread; all may have the same.
    ///   - records: with a ring for each thread.
    ///   - makeFastPath: called on each thread.
    init(
        _ sockets: [[DatagramSocket]], records: FlightRecords, mailbox: Mailbox<Notice>,
        makeFastPath: @escaping @Sendable () -> FastPath
    ) throws(SystemError) {
        var distinct: [ObjectIdentifier: DatagramSocket] = [:]
        for socket in sockets.flatMap(\.self) { distinct[ObjectIdentifier(socket)] = socket }
        self.sockets = Array(distinct.values)
        let begun = try Mailbox<Void>(capacity: max(1, sockets.count))
        telemetry = records.rings.prefix(sockets.count).map { ThreadTelemetry(ring: $0) }
        for (number, own) in sockets.enumerated() {
            let (telemetry, orders) = (telemetry[number], try ServingOrders())
            let thread = try NamedThread("serve-\(number)") {
                RecordFile.useCrashStack()
                var thread = ServingThread(
                    sockets: own, fastPath: makeFastPath(), mailbox: mailbox, telemetry: telemetry)
                _ = begun.post(())
                do throws(SystemError) {
                    try thread.serve(orders)
                } catch {
                    preconditionFailure("a serving thread can't wait for its sockets: \(error)")
                }
            }
            running.append(Running(thread, orders))
        }
        var (waits, count) = (PollSet([begun.descriptor]), 0)
        while count < running.count {
            try waits.wait()
            count += begun.takeAll().count
        }
    }

    /// A start that fails later on must not leave threads behind.
    deinit {
        stop()
    }

    var count: Int { running.count }

    /// The sum over all threads; whole batches of each.
    var tally: Tally {
        var sum = Tally()
        for thread in telemetry { sum += thread.tally.read() }
        return sum
    }

    /// How long hits took, over all threads.
    var hitDurations: LatencyHistogram {
        var sum = LatencyHistogram()
        for thread in telemetry { sum += thread.hitDurations.read() }
        return sum
    }

    /// Datagrams that never came to a thread. A system call for each socket.
    var lostDatagrams: UInt64 { sockets.reduce(0) { $0 + UInt64($1.lostDatagrams) } }

    /// Asks each whether it still takes what comes, once all have answered the last time.
    func look() {
        for thread in running { thread.orders.look() }
    }

    /// True before the first look.
    var haveAnswered: Bool { running.allSatisfy(\.orders.isAnswered) }

    /// May be called again.
    func stop() {
        for thread in running { thread.orders.stop() }
        for thread in running { thread.thread.take()?.join() }
    }
}
