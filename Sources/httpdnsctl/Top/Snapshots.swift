// Polls the daemon with one request line. Prints nothing, except a refusal of the first request.

import Control
import DNSWire
import LinuxIO

struct Snapshots {
    let line: String
    let socket: String

    static let interval = Duration.seconds(1)
    /// A daemon that does not answer within this time is shown as silent, so that the screen keeps updating.
    private static let timeout = Duration.seconds(2)
    private static let maxAnswerBytes = 1 << 20

    func look() throws(SystemError) -> [UInt8] {
        try LocalExchange.ask(line, at: socket, timeout: Snapshots.timeout, maxBytes: Snapshots.maxAnswerBytes)
    }

    /// Returns the first answer. If the daemon refuses or does not answer, prints why and exits.
    func first() -> [UInt8] {
        do throws(SystemError) {
            let answer = try look()
            guard !Reply.isRefusal(answer) else {
                StandardStreams.writeOutput(String(decoding: answer, as: UTF8.self))
                Process.exit(Exit.failed)
            }
            return answer
        } catch {
            fail(error, at: socket)
        }
    }
}
