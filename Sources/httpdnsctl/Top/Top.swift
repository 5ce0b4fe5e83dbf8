// `top`: redraws a screen each second. Without a terminal, it polls twice and prints the difference as text.

import Control
import DNSWire
import LinuxIO

struct Top {
    private let snapshots: Snapshots
    private let ticker: Ticker
    private let isPainted: Bool
    private var latest: TopReport
    private var earlier: TopReport?
    /// Why the shown values are outdated; nil while polls succeed.
    private var notice: String?

    init(socket: String) throws(SystemError) {
        snapshots = Snapshots(line: "\(Command.Word.top) --json", socket: socket)
        guard let report = TopReport(answer: snapshots.first()) else { fail(Top.notUnderstood, Exit.failed) }
        latest = report
        ticker = try Ticker(ofScreen: Terminal.isThere)
        // https://no-color.org
        isPainted = (Environment.value(of: "NO_COLOR") ?? "").isEmpty
    }

    mutating func run() throws(SystemError) {
        guard let terminal = Terminal() else { return try printOnce() }
        try ticker.watchKeys(of: terminal)
        while !ticker.isOver {
            show(on: terminal)
            let deadline = Clock.now() + Snapshots.interval
            while try ticker.wait(until: deadline) { show(on: terminal) }
            if !ticker.isOver { look() }
        }
    }

    private mutating func printOnce() throws(SystemError) {
        let deadline = Clock.now() + Snapshots.interval
        while try ticker.wait(until: deadline) {}
        guard !ticker.isOver else { return }
        look()
        if let notice { fail(notice, Exit.failed) }
        StandardStreams.writeOutput(latest.text(since: earlier))
    }

    private mutating func look() {
        do throws(SystemError) {
            guard let report = TopReport(answer: try snapshots.look()) else {
                notice = Top.notUnderstood
                return
            }
            (earlier, latest) = (latest, report)
            notice = nil
        } catch {
            notice = "no answer from the daemon: \(error); trying again each second"
        }
    }

    private func show(on terminal: borrowing Terminal) {
        let (columns, rows) = terminal.size
        let screen = TopScreen(latest, since: earlier, notice: notice)
        let size = TopScreen.Size(columns: columns, rows: rows)
        terminal.show(isPainted ? screen.painted(size) : screen.lines(size))
    }

    private static let notUnderstood = "can't parse the daemon's answer; check that its version is the same"
}
