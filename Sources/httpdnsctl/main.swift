// httpdnsctl: sends one line to the daemon's control socket and prints the answer. Never writes to anything else.

import Control
import LinuxIO

private enum Exit {
    static let failed: Int32 = 1
    static let cannotConnect: Int32 = 2
    static let usage: Int32 = 3
}

/// The daemon answers from memory; a silence that is longer than this is that of a stopped one.
private let timeout = Duration.seconds(5)
/// A dump of a cache with millions of entries. All of it is taken before it is printed: a pager that waits must not
/// make the daemon wait.
private let maxAnswerBytes = 1 << 30

private func fail(_ text: String, _ code: Int32) -> Never {
    StandardStreams.writeError("httpdnsctl: \(text)\n")
    Process.exit(code)
}

private func ask(_ line: String, at socket: String) {
    let answer: [UInt8]
    do throws(SystemError) {
        answer = try LocalExchange.ask(line, at: socket, timeout: timeout, maxBytes: maxAnswerBytes)
    } catch {
        guard error.call == "connect" else { fail("no answer from the daemon at \(socket): \(error)", Exit.failed) }
        fail("cannot reach the daemon at \(socket): \(error)\nis httpdnsd running? see --socket", Exit.cannotConnect)
    }
    guard !answer.isEmpty else { fail("the daemon at \(socket) gave no answer", Exit.failed) }
    StandardStreams.writeOutput(String(decoding: answer, as: UTF8.self))
    if Reply.isRefusal(answer) { Process.exit(Exit.failed) }
}

do throws(UsageError) {
    switch try Invocation(arguments: Array(CommandLine.arguments.dropFirst())) {
    case .showVersion: StandardStreams.writeOutput("httpdnsctl \(programVersion)\n")
    case .showHelp: StandardStreams.writeOutput(Invocation.usage)
    case .ask(let line, let socket): ask(line, at: socket)
    }
} catch {
    fail("\(error.reason)\n\(Invocation.usage)", Exit.usage)
}
