// One look after another at the daemon. Nothing here is printed.

import Control
import LinuxIO

struct Looks {
    let line: String
    let socket: String

    static let interval = Duration.seconds(1)
    /// A daemon that answers later than this is shown as one that does not: the screen must not stand still.
    private static let timeout = Duration.seconds(2)
    private static let maxAnswerBytes = 1 << 20

    func look() throws(SystemError) -> [UInt8] {
        try LocalExchange.ask(line, at: socket, timeout: Looks.timeout, maxBytes: Looks.maxAnswerBytes)
    }

    /// The first one: who can't have it is told why, and the program ends.
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
