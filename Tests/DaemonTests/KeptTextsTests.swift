// Reports that are made once for all who ask in the same moment.

import LinuxIO
import Testing

@testable import Daemon

struct KeptTextsTests {
    @Test("a text is made once in 250 ms, and once more in the other form")
    func made() {
        let (texts, start) = (KeptTexts(), Clock.now())
        var count = 0
        func ask(_ asJSON: Bool, after milliseconds: Int) -> String {
            texts.text(asJSON: asJSON, now: start + .milliseconds(milliseconds)) {
                count += 1
                return "\(count)"
            }
        }
        #expect([0, 1, 249, 250, 251].map { ask(false, after: $0) } == ["1", "1", "1", "2", "2"])
        #expect([251, 252].map { ask(true, after: $0) } == ["3", "3"] && ask(false, after: 499) == "2")
    }
}
