// httpdnsctl: sends one line to the daemon's control socket and prints the answer. Never writes to anything else.

internal import Control
internal import Glibc
internal import LinuxIO

private enum Exit {
    static let failed: Int32 = 1
    static let cannotConnect: Int32 = 2
    static let usage: Int32 = 3
}

/// The daemon answers from memory; who waits longer than this waits for a stopped one.
private let timeout = Duration.seconds(5)
/// Far more than the longest report.
private let maxAnswerBytes = 16 << 20

private func fail(_ text: String, _ code: Int32) -> Never {
    let bytes = Array("httpdnsctl: \(text)\n".utf8)
    _ = unsafe bytes.withUnsafeBytes { unsafe write(STDERR_FILENO, $0.baseAddress, $0.count) }
    exit(code)
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
    print(String(decoding: answer, as: UTF8.self), terminator: "")
    if Reply.isRefusal(answer) { exit(Exit.failed) }
}

do throws(UsageError) {
    switch try Invocation(arguments: Array(CommandLine.arguments.dropFirst())) {
    case .showVersion: print("httpdnsctl \(programVersion)")
    case .showHelp: print(Invocation.usage, terminator: "")
    case .ask(let line, let socket): ask(line, at: socket)
    }
} catch {
    fail("\(error.reason)\n\(Invocation.usage)", Exit.usage)
}
