// An answer on the control socket that its producer sends step by step. Buffers a bounded amount of unread data and
// never waits for the client.

import Control
import DNSWire
import LinuxIO

/// The answer to a request line.
enum ControlAnswer {
    /// Each page is produced after the previous ones have been sent. A page may be empty.
    case pages(AnyIterator<String>)
    case stream(ControlStream)
}

/// open -> finished (the answer is complete) -> delivered
///      `-> gone (the client disconnected or stopped reading, or the producer was silent for too long)
final class ControlStream {
    /// The longest time in which the producer sends nothing and the client reads nothing; nil for a stream that may
    /// stay idle forever.
    let silence: Duration?
    static let usualSilence: Duration = .seconds(30)
    /// Usual bound of unread data: some thousand steps.
    static let usualUnsentBytes = 64 * 1024
    /// Bound of unread data. A client with more is disconnected, for example one paused in a pager.
    let maxUnsentBytes: Int

    /// The longest time that data waits without the client reading any of it; nil if `silence` suffices.
    let patience: Duration?
    /// The client wants lines of JSON, else text.
    let wantsJSON: Bool

    init(
        wantsJSON: Bool, silence: Duration? = ControlStream.usualSilence, patience: Duration? = nil,
        maxUnsentBytes: Int = ControlStream.usualUnsentBytes
    ) {
        self.wantsJSON = wantsJSON
        self.silence = silence
        self.patience = patience
        self.maxUnsentBytes = maxUnsentBytes
    }

    private enum Phase {
        case open, finished, gone
    }

    private var phase = Phase.open
    private(set) var unsent: [UInt8] = []
    /// True after unread data exceeded `maxUnsentBytes`: the server then disconnects the client.
    private(set) var isOverfull = false

    /// Called once when the connection closes before the answer is complete. Never called during another function of
    /// the stream, nor after `finish`.
    var onGone: (() -> Void)?
    /// Tells the server that data, the end, or an overflow is pending.
    var onChange: (() -> Void)?

    var isFinished: Bool { phase == .finished }

    /// Free buffer space in bytes, for producers that omit lines when it is short.
    var room: Int { maxUnsentBytes - unsent.count }

    /// Sends whole lines, so that a client can show them at once. Does nothing after the client has disconnected.
    func send(_ text: String) {
        guard phase == .open, !isOverfull else { return }
        if unsent.count + text.utf8.count <= maxUnsentBytes {
            unsent += Array(text.utf8)
        } else {
            isOverfull = true
        }
        onChange?()
    }

    func send(_ report: some Report) { send(report.rendered(asJSON: wantsJSON)) }

    /// Sends the reply, and ends the answer.
    func finish(_ reply: Control.Reply) {
        send(reply.rendered(asJSON: wantsJSON))
        finish()
    }

    func refuse(_ reason: String) { finish(.refusal(Control.Refusal(reason))) }

    /// Ends the answer. The server closes the connection after the client has read everything.
    func finish() {
        guard phase == .open else { return }
        phase = .finished
        onGone = nil
        onChange?()
    }

    /// Called by the server after it sent `count` bytes.
    func took(_ count: Int) { unsent.removeFirst(count) }

    /// Called by the server after it closed the connection.
    func connectionClosed() {
        onChange = nil
        guard phase == .open else { return }
        phase = .gone
        unsent = []
        let tell = exchange(&onGone, with: nil)
        tell?()
    }
}
