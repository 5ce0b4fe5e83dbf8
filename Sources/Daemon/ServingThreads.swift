// The N serving threads: started together, stopped and joined together.

import AnswerCache
import LinuxIO
import Telemetry

final class ServingThreads {
    private let stopping: Mailbox<Void>
    private let telemetry: [ThreadTelemetry]
    private let sockets: [DatagramSocket]
    private var running: [Running] = []

    /// A thread can't be held in an array by itself: it must be joined exactly once.
    private final class Running {
        var thread: NamedThread?

        init(_ thread: consuming NamedThread) {
            self.thread = consume thread
        }
    }

    /// - Parameters:
    ///   - sockets: a thread's sockets, thread by thread.
    ///   - records: with a ring for each thread.
    ///   - makeFastPath: called on each thread.
    init(
        _ sockets: [[DatagramSocket]], records: FlightRecords, mailbox: Mailbox<Notice>,
        makeFastPath: @escaping @Sendable () -> FastPath
    ) throws(SystemError) {
        stopping = try Mailbox(capacity: 1)
        self.sockets = sockets.flatMap(\.self)
        telemetry = records.rings.prefix(sockets.count).map { ThreadTelemetry(ring: $0) }
        for (number, own) in sockets.enumerated() {
            let (telemetry, stopping) = (telemetry[number], stopping)
            let thread = try NamedThread("serve-\(number)") {
                RecordFile.useCrashStack()
                var thread = ServingThread(
                    sockets: own, fastPath: makeFastPath(), mailbox: mailbox, telemetry: telemetry)
                do throws(SystemError) {
                    try thread.serve(until: stopping)
                } catch {
                    preconditionFailure("a serving thread can't wait for its sockets: \(error)")
                }
            }
            running.append(Running(thread))
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

    /// May be called again.
    func stop() {
        _ = stopping.post(())
        for thread in running { thread.thread.take()?.join() }
    }
}
