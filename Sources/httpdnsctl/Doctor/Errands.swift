// The doctor's looks over the network, all at the same time and each with an end. What they found is theirs to say.

import LinuxIO

protocol Errand: AnyObject {
    /// For who waits: "provider alidns at 223.5.5.5:443".
    var what: String { get }
    var isOver: Bool { get }
    /// May be over when it returns.
    func begin(_ loop: EventLoop)
    /// A datagram may have been lost: once more.
    func repeatQuestion()
    /// Time is up.
    func end(_ loop: EventLoop)
}

struct Errands {
    let errands: [any Errand]

    /// Long enough for a handshake around the world, and for a question that is asked twice.
    private static let patience = Duration.seconds(4)
    private static let repeatAfter = Duration.milliseconds(1300)
    /// Nobody likes to wait longer without a word.
    private static let silence = Duration.seconds(2)

    /// Each of them is over when this returns.
    func run() throws(SystemError) {
        let loop = try EventLoop()
        let start = Clock.now()
        for errand in errands { errand.begin(loop) }
        var steps: [(at: Instant, act: () -> Void)] = [
            (start + Errands.repeatAfter, { for errand in waiting { errand.repeatQuestion() } }),
            (start + Errands.silence, { showProgress() }),
        ]
        let deadline = start + Errands.patience
        while !waiting.isEmpty, Clock.now() < deadline {
            try loop.turn(until: min(steps.first?.at ?? deadline, deadline))
            while let step = steps.first, step.at <= Clock.now() {
                step.act()
                steps.removeFirst()
            }
        }
        for errand in waiting { errand.end(loop) }
    }

    private var waiting: [any Errand] { errands.filter { !$0.isOver } }

    private func showProgress() {
        guard StandardStreams.isErrorTerminal else { return }
        for errand in waiting { StandardStreams.writeError("httpdnsctl: waiting for \(errand.what)\n") }
    }
}
