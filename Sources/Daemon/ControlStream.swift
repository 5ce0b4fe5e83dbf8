// An answer on the control socket that is not ready at once: whoever makes it sends its steps as they come. It holds
// what the client has not taken yet, in bounded space, and never waits for the client.

import LinuxIO

/// What is sent back for a request line.
enum ControlAnswer {
    /// Each is asked for when those before it have left. They may be empty.
    case pieces(AnyIterator<String>)
    case stream(ControlStream)
}

/// open -> finished (all is said) -> delivered
///      `-> gone (the client went, took nothing for too long, or nothing was said for too long)
final class ControlStream {
    /// The longest time without a step, or without the client taking one; nil: there may be nothing to say for ever.
    let silence: Duration?
    static let usualSilence: Duration = .seconds(30)
    /// Some thousand steps. A client that has not taken so much is cut: somebody else may look at a pager.
    static let maxUnsentBytes = 64 * 1024

    /// The longest time that something waits for the client to take any of it; nil: `silence` is enough.
    let patience: Duration?

    init(silence: Duration? = ControlStream.usualSilence, patience: Duration? = nil) {
        self.silence = silence
        self.patience = patience
    }

    private enum Phase {
        case open, finished, gone
    }

    private var phase = Phase.open
    private(set) var unsent: [UInt8] = []
    /// The client has to be cut.
    private(set) var isOverfull = false

    /// Called once when nobody will read what is still to come; never while one of these functions runs, and not after
    /// `finish`.
    var onGone: (() -> Void)?
    /// There is something to do for the server.
    var onChange: (() -> Void)?

    var isFinished: Bool { phase == .finished }

    /// For whoever leaves out what finds no room, in bytes.
    var room: Int { ControlStream.maxUnsentBytes - unsent.count }

    /// Whole lines, so that a client can show them. Nothing happens when the client is gone.
    func send(_ text: String) {
        guard phase == .open, !isOverfull else { return }
        if unsent.count + text.utf8.count <= ControlStream.maxUnsentBytes {
            unsent += Array(text.utf8)
        } else {
            isOverfull = true
        }
        onChange?()
    }

    /// The connection is closed when the client has taken everything.
    func finish() {
        guard phase == .open else { return }
        phase = .finished
        onGone = nil
        onChange?()
    }

    /// The server's: so many bytes have left.
    func took(_ count: Int) { unsent.removeFirst(count) }

    /// The server's: the connection is closed.
    func connectionClosed() {
        onChange = nil
        guard phase == .open else { return }
        phase = .gone
        unsent = []
        let tell = onGone
        onGone = nil
        tell?()
    }
}
