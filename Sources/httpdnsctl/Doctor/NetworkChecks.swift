// Runs the doctor's network checks concurrently, each with a time limit. Each check holds its own result.

import DNSWire
import LinuxIO

protocol NetworkCheck: AnyObject {
    /// The name of the check, shown to the operator during a wait: "provider alidns at 223.5.5.5:443".
    var what: LocalizedText { get }
    var isOver: Bool { get }
    /// Starts the check; it may be over when this returns.
    func begin(_ loop: EventLoop)
    /// Sends the question again, since a datagram may have been lost.
    func repeatQuestion()
    /// Ends the check: the time limit is reached.
    func end(_ loop: EventLoop)
}

struct NetworkChecks {
    let checks: [any NetworkCheck]

    /// Time limit of all checks: enough for a handshake over a long distance, and for a question that is sent twice.
    private static let patience = Duration.seconds(4)
    private static let repeatAfter = Duration.milliseconds(1300)
    /// The time after which the operator sees the checks that still run.
    private static let silence = Duration.seconds(2)

    /// Runs all checks; each is over when this returns.
    func run() throws(SystemError) {
        let loop = try EventLoop()
        let start = Clock.now()
        for check in checks { check.begin(loop) }
        var steps: [(at: Instant, act: () -> Void)] = [
            (start + NetworkChecks.repeatAfter, { for check in waiting { check.repeatQuestion() } }),
            (start + NetworkChecks.silence, { showProgress() }),
        ]
        let deadline = start + NetworkChecks.patience
        while !waiting.isEmpty, Clock.now() < deadline {
            try loop.turn(until: min(steps.first?.at ?? deadline, deadline))
            while let step = steps.first, step.at <= Clock.now() {
                step.act()
                steps.removeFirst()
            }
        }
        for check in waiting { check.end(loop) }
    }

    private var waiting: [any NetworkCheck] { checks.filter { !$0.isOver } }

    private func showProgress() {
        guard StandardStreams.isErrorTerminal else { return }
        for check in waiting {
            let text: LocalizedText = "httpdnsctl: waiting for \(check.what)"
            StandardStreams.writeError(text.text(in: .ofOperator) + "\n")
        }
    }
}
