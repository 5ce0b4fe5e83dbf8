// The wait between two polls of the daemon. A signal or a key ends it early.

import DNSWire
import LinuxIO

final class Ticker {
    private let loop: EventLoop
    private let signals: SignalWatch
    /// The program is about to end.
    private(set) var isOver = false
    /// The screen must be redrawn.
    private var isResized = false

    /// - Parameter ofScreen: whether a screen is drawn. If so, Ctrl-Z (SIGTSTP) is taken and ignored, because a stopped
    ///   program could not restore the terminal.
    init(ofScreen: Bool) throws(SystemError) {
        signals = try SignalWatch(
            Terminal.endSignals + (ofScreen ? [Terminal.resizeSignal, Terminal.stopSignal] : []))
        loop = try EventLoop()
        _ = try loop.watch(signals.descriptor, for: .readable) { [unowned self] _ in takeSignals() }
    }

    /// Ends on "q", Ctrl-D, or if the terminal is closed.
    func watchKeys(of terminal: borrowing Terminal) throws(SystemError) {
        _ = try loop.watch(terminal.keyboard, for: .readable) { [unowned self] _ in
            let keys = (try? Terminal.takeKeys()) ?? []
            if keys.isEmpty || keys.contains(where: Ticker.endKeys.contains) { isOver = true }
        }
    }

    private static let endKeys = [UInt8(ascii: "q"), UInt8(ascii: "Q"), 4]

    /// - Returns: whether the terminal was resized; this may be long before the deadline.
    func wait(until deadline: Instant) throws(SystemError) -> Bool {
        isResized = false
        while !isOver, !isResized, Clock.now() < deadline { try loop.turn(until: deadline) }
        return isResized
    }

    private func takeSignals() {
        for signal in (try? signals.takeSignals()) ?? [] {
            if Terminal.endSignals.contains(signal) { isOver = true }
            if signal == Terminal.resizeSignal { isResized = true }
        }
    }
}
