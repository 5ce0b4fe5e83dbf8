// httpdnsctl: sends one line to the daemon's control socket and prints the answer. Some commands run in this program.

import Control
import DNSWire
import LinuxIO
import Telemetry

/// Time limit of an answer. The daemon answers from memory; a longer silence means that it has stopped.
private let timeout = Duration.seconds(5)
/// Time limit of each step of a command that is answered in steps: a step may wait for a slow provider.
private let stepTimeout = Duration.seconds(30)
/// Time limit of a silence of `watch`, which is silent while no query comes; the operator ends it.
private let watchTimeout = Duration.seconds(1 << 32)
/// Bound on an answer: enough for a dump of a cache with millions of entries. The whole answer is read before it is
/// printed, so that a pager that waits does not block the daemon. Answers in steps are printed as they arrive.
private let maxAnswerBytes = 1 << 30

private func ask(_ line: String, at socket: String) {
    let command = (try? Request(line: Array(line.utf8)))?.command
    let isInSteps = command?.isAnsweredInSteps ?? false
    let isEndless = if case .watch = command { true } else { false }
    let silence = isEndless ? watchTimeout : isInSteps ? stepTimeout : timeout
    var output = Output()
    do throws(SystemError) {
        try LocalExchange.ask(
            line, at: socket, timeout: timeout, silence: silence, maxBytes: isEndless ? Int.max : maxAnswerBytes
        ) { bytes in
            output.take(bytes)
            if isInSteps { output.showLines() }
        }
    } catch {
        fail(error, at: socket)
    }
    guard isEndless || !output.isEmpty else { fail("the daemon at \(socket) gave no answer", Exit.failed) }
    output.showAll()
    if output.isRefusal { Process.exit(Exit.failed) }
    if isEndless { fail("the daemon at \(socket) ended the watch", Exit.failed) }
}

private func showRecords(at path: String, asJSON: Bool, showsClients: Bool) {
    do throws(SystemError) {
        let bytes = try TextFile.read(path, maxBytes: FlightFile.maxBytes)
        do throws(FlightFileError) {
            StandardStreams.writeOutput(try FlightFile(bytes).text(asJSON: asJSON, showsClients: showsClients))
        } catch {
            fail("\(path): \(error)", Exit.failed)
        }
    } catch {
        fail("can't read \(path): \(error)", Exit.failed)
    }
}

/// Bytes that were received and are not printed yet. A refusal is the last line of an answer, usually its only line.
private struct Output {
    private var bytes: [UInt8] = []
    private(set) var lastLine: [UInt8] = []
    private static let lineFeed = UInt8(ascii: "\n")

    /// True if no byte was received.
    var isEmpty: Bool { bytes.isEmpty && lastLine.isEmpty }

    /// Whether the last printed line is a refusal.
    var isRefusal: Bool { Reply.isRefusal(lastLine) }

    mutating func take(_ bytes: [UInt8]) { self.bytes += bytes }

    /// Prints whole lines only, so that no character is cut.
    mutating func showLines() {
        if let end = bytes.lastIndex(of: Output.lineFeed) { show(end + 1) }
    }

    mutating func showAll() { show(bytes.count) }

    private mutating func show(_ count: Int) {
        let text = bytes.prefix(count)
        guard !text.isEmpty else { return }
        StandardStreams.writeOutput(String(decoding: text, as: UTF8.self))
        let start = text.dropLast().lastIndex(of: Output.lineFeed).map { $0 + 1 } ?? 0
        lastLine = Array(text[start...])
        bytes.removeFirst(count)
    }
}

/// The program `httpdnsctl`.
package enum ControlProgram {
    /// Runs the command. Returns 0 on success; a failure exits with its own code.
    package static func run(_ arguments: [String]) -> Int32 {
        do {
            let socket = Environment.value(of: Invocation.socketVariable)
            switch try Invocation(arguments: arguments, socket: socket) {
            case .showVersion: StandardStreams.writeOutput("httpdnsctl \(programVersion)\n")
            case .showUsage: StandardStreams.writeOutput(Invocation.usage)
            case .help(let word, let wantsJSON):
                StandardStreams.writeOutput(Reply.help(word).rendered(asJSON: wantsJSON))
            case .ask(let line, let socket): ask(line, at: socket)
            case .top(let socket):
                var top = try Top(socket: socket)
                try top.run()
            case .watchStats(let socket, let wantsJSON): try StatsWatch(socket: socket, wantsJSON: wantsJSON).run()
            case .system(let action, let socket, let wantsJSON):
                try SystemCommand(socket: socket, wantsJSON: wantsJSON).run(action)
            case .doctor(let settings, let socket, let wantsJSON):
                let report = try Examination(settings: settings, socket: socket).run()
                StandardStreams.writeOutput(wantsJSON ? report.jsonLine : report.text(in: .ofOperator))
                if report.hasFindings { Process.exit(Exit.failed) }
            case .setup(let words, let socket, let wantsJSON):
                Setup(socket: socket, wantsJSON: wantsJSON).run(words)
            case .reportBug(let output, let settings, let socket, let wantsJSON):
                var collection = ReportCollection(settings: settings, socket: socket)
                let report = collection.report()
                ReportFile(output, at: report.time).take(report, wantsJSON: wantsJSON)
            case .readRecords(let path, let wantsJSON, let showsClients):
                showRecords(at: path, asJSON: wantsJSON, showsClients: showsClients)
            }
        } catch let error as UsageError {
            fail("\(error.reason)\n\(Invocation.usage)", Exit.usage)
        } catch {
            fail("\(error)", Exit.failed)
        }
        return 0
    }
}
