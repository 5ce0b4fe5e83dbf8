// A report that costs more to make than to send, as text and as JSON: who asks again within the same moment gets the
// same, so that nobody keeps the main thread busy by asking.

import LinuxIO

final class KeptTexts {
    private var kept: [Bool: (text: String, until: Instant)] = [:]

    /// Shorter than what people see, and than the second between two looks of `top`.
    static let lifetime: Duration = .milliseconds(250)

    func text(asJSON: Bool, now: Instant, _ make: () -> String) -> String {
        if let last = kept[asJSON], now < last.until { return last.text }
        let text = make()
        kept[asJSON] = (text, now + KeptTexts.lifetime)
        return text
    }
}
