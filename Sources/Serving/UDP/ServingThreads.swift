// The N serving threads: started, stopped and joined together.

package import LinuxIO
package import Telemetry

package final class ServingThreads {
    private let telemetry: [ThreadTelemetry]
    /// The sockets of each thread; threads may share sockets.
    private let socketsOfThreads: [[DatagramSocket]]
    private let mailbox: Mailbox<Notice>
    private let makeFastPath: @Sendable () -> FastPath
    private var running: [Running] = []

    /// A class, because an array cannot hold a thread that must be joined exactly once.
    private final class Running {
        let orders: ServingOrders
        var thread: NamedThread?

        init(_ thread: consuming NamedThread, _ orders: ServingOrders) {
            self.orders = orders
            self.thread = consume thread
        }
    }

    /// - Parameters:
    ///   - sockets: one array per thread; threads may share sockets.
    ///   - records: has a ring for each thread.
    ///   - makeFastPath: called on each thread.
    package init(
        _ sockets: [[DatagramSocket]], records: FlightRecords, mailbox: Mailbox<Notice>,
        makeFastPath: @escaping @Sendable () -> FastPath
    ) {
        socketsOfThreads = sockets
        telemetry = records.rings.prefix(sockets.count).map { ThreadTelemetry(ring: $0) }
        (self.mailbox, self.makeFastPath) = (mailbox, makeFastPath)
    }

    /// Starts the threads; all of them serve when this returns.
    package func start() throws(SystemError) {
        let (mailbox, makeFastPath) = (mailbox, makeFastPath)
        let begun = try Mailbox<Void>(capacity: max(1, count))
        for (number, own) in socketsOfThreads.enumerated() {
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
        var (waits, begunCount) = (PollSet([begun.descriptor]), 0)
        while begunCount < running.count {
            try waits.wait()
            begunCount += begun.takeAll().count
        }
    }

    /// A failed start must not leave threads behind.
    deinit {
        stop()
    }

    package var count: Int { socketsOfThreads.count }

    /// Sum over all threads; each thread publishes whole batches.
    package var tally: Tally {
        var sum = Tally()
        for thread in telemetry { sum += thread.tally.read() }
        return sum
    }

    /// Latency of cache hits, over all threads.
    package var hitDurations: LatencyHistogram {
        var sum = LatencyHistogram()
        for thread in telemetry { sum += thread.hitDurations.read() }
        return sum
    }

    /// Datagrams that the kernel dropped before a thread read them. Costs a system call per socket.
    package var lostDatagrams: UInt64 {
        var distinct: [ObjectIdentifier: DatagramSocket] = [:]
        for socket in socketsOfThreads.joined() { distinct[ObjectIdentifier(socket)] = socket }
        return distinct.values.reduce(0) { $0 + UInt64($1.lostDatagrams) }
    }

    /// Sends a liveness check to each thread that has answered the last one.
    package func checkLiveness() {
        for thread in running { thread.orders.checkLiveness() }
    }

    /// Whether all threads have answered their last liveness check; true before the first check.
    package var haveAnswered: Bool { running.allSatisfy(\.orders.isAnswered) }

    /// Stops and joins the threads. May be called again.
    package func stop() {
        for thread in running { thread.orders.stop() }
        for thread in running { thread.thread.take()?.join() }
    }
}
