// Saves the flight recorder on a crash and on a burst of failures, one file each. Logs an unwritable directory once.

import Control
import DNSWire
import LinuxIO
import Telemetry

final class FlightFiles {
    private static let (burstName, crashName) = ("recorder-burst.bin", "recorder-crash.bin")
    /// Longest wait for a file at the end of the process.
    private static let patience: Duration = .seconds(1)
    /// File names; the previous file has the suffix ".1".
    static var names: [String] { [burstName, crashName] }

    private let records: FlightRecords
    private let outbox: Outbox
    private let results: Mailbox<Result<String, Failure>>
    private var burst = FailureBurst()
    private var lastFailures: UInt64 = 0
    private var countedAt = Clock.now()
    private var directory: String?
    private var failedDirectory: String?
    /// The thread that writes one burst file; nil if none is running.
    private var writer: Writer?

    private struct Failure: Error {
        let path: String
        let reason: String
    }

    /// Holds a thread, because an optional can't hold one directly: it must be joined exactly once.
    private final class Writer {
        private var thread: NamedThread?

        init(_ thread: consuming NamedThread) {
            self.thread = consume thread
        }

        func join() { thread.take()?.join() }

        /// - Returns: false if the thread is blocked, for example by a file system that does not answer.
        func join(within patience: Duration) -> Bool { thread.take()?.join(within: patience) ?? true }
    }

    /// Called in the main thread.
    init(_ records: FlightRecords, loop: EventLoop, outbox: Outbox) throws(SystemError) {
        RecordFile.useCrashStack()
        (self.records, self.outbox) = (records, outbox)
        results = try Mailbox(capacity: 1)
        _ = try loop.watch(results.descriptor, for: .readable) { [unowned self] _ in takeResults() }
    }

    deinit {
        RecordFile.writeNothingOnCrash()
        // A thread that is left behind still reads the records.
        if !finish() { _ = unsafe Unmanaged.passRetained(records) }
    }

    /// Waits until a file that has begun is whole. Returns false if its thread is blocked.
    @discardableResult
    func finish() -> Bool { writer?.join(within: FlightFiles.patience) ?? true }

    /// - Parameter directory: an absolute path; nil disables writing.
    func setDirectory(_ directory: String?) {
        guard directory != self.directory else { return }
        self.directory = directory
        RecordFile.writeNothingOnCrash()
        guard let directory else { return }
        do throws(SystemError) {
            try file(FlightFiles.crashName, in: directory).writeOnCrash()
        } catch {
            failed(Failure(path: directory, reason: error.description))
        }
    }

    /// Called in every event loop turn; saves the recorder on a burst of failures.
    ///
    /// - Parameters:
    ///   - failures: the failures of the main thread.
    ///   - sum: the counters of all threads, which are summed only after a new failure or when 1 s has passed.
    func counted(failures: UInt64, _ sum: @autoclosure () -> Tally, now: Instant) {
        guard failures != lastFailures || countedAt + .seconds(1) <= now else { return }
        (lastFailures, countedAt) = (failures, now)
        let sum = sum()
        counted(answers: sum.upstreamResponses, failures: sum[.serverFailure], now: now)
    }

    /// - Parameters:
    ///   - answers: clients' answers since the start.
    ///   - failures: clients' failures since the start.
    private func counted(answers: UInt64, failures: UInt64, now: Instant) {
        guard burst.counted(answers: answers, failures: failures, now: now), let directory, writer == nil else {
            return
        }
        let file = file(FlightFiles.burstName, in: directory)
        let results = results
        do throws(SystemError) {
            writer = Writer(
                try NamedThread("recorder") {
                    _ = results.post(FlightFiles.write(file))
                })
        } catch {
            failed(Failure(path: file.path, reason: error.description))
        }
    }

    private func file(_ name: String, in directory: String) -> RecordFile {
        // The records live as long as the daemon, which lives as long as the process.
        unsafe RecordFile(
            path: "\(directory)/\(name)", header: FlightFile.header(of: records, programVersion: programVersion),
            parts: records.parts)
    }

    private static func write(_ file: RecordFile) -> Result<String, Failure> {
        do throws(SystemError) {
            try? Directory.makeParent(of: file.path)
            try file.write()
            return .success(file.path)
        } catch {
            return .failure(Failure(path: file.path, reason: error.description))
        }
    }

    private func takeResults() {
        for result in results.takeAll() {
            writer?.join()
            writer = nil
            switch result {
            case .success(let path): outbox.log(.recorderWritten(path: path))
            case .failure(let failure): failed(failure)
            }
        }
    }

    private func failed(_ failure: Failure) {
        guard failedDirectory != directory else { return }
        failedDirectory = directory
        outbox.log(.recorderFails(path: failure.path, reason: failure.reason))
    }
}
