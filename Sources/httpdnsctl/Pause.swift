// Time between two looks at the daemon, which a signal or a key cuts short.

import LinuxIO

final class Pause {
    private let loop: EventLoop
    private let signals: SignalWatch
    /// The program is to end.
    private(set) var isOver = false
    /// The screen has to be drawn anew.
    private var isResized = false

    /// - Parameter ofScreen: a screen is drawn; else who stops the program finds the terminal as it was.
    init(ofScreen: Bool) throws(SystemError) {
        signals = try SignalWatch(
            Terminal.endSignals + (ofScreen ? [Terminal.resizeSignal, Terminal.stopSignal] : []))
        loop = try EventLoop()
        _ = try loop.watch(signals.descriptor, for: .readable) { [unowned self] _ in takeSignals() }
    }

    /// Ends on "q", Ctrl-D, or when the terminal has gone.
    func watchKeys(of terminal: borrowing Terminal) throws(SystemError) {
        _ = try loop.watch(terminal.keyboard, for: .readable) { [unowned self] _ in
            let keys = (try? Terminal.takeKeys()) ?? []
            if keys.isEmpty || keys.contains(where: Pause.endKeys.contains) { isOver = true }
        }
    }

    private static let endKeys = [UInt8(ascii: "q"), UInt8(ascii: "Q"), 4]

    /// - Returns: whether the screen has another size; it may return long before the deadline then.
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
