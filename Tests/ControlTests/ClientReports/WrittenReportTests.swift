// The output of `report-bug` after it has written its file.

import Control
import Testing

struct WrittenReportTests {
    @Test("the path, the size, what is missing, and the next step")
    func text() {
        let report = WrittenReport(path: "./a.txt", bytes: 12_345, missing: ["log: journalctl is not installed"])
        #expect(
            report.rendered(asJSON: false) == """
                ./a.txt: 12.0 KiB
                missing: log: journalctl is not installed
                Next: read the file, remove what you do not want to show, and attach it to your report.

                """)
        #expect(
            report.rendered(asJSON: true)
                == #"{"bytes":12345,"missing":["log: journalctl is not installed"],"path":"./a.txt"}"# + "\n")
    }

    @Test("a path with control characters is escaped, as every other text")
    func controlCharacters() {
        let report = WrittenReport(path: "./\u{1B}[2J\n.txt", bytes: 1, missing: [])
        #expect(report.rendered(asJSON: false).hasPrefix(#"./\u{1B}[2J\n.txt: "#))
        #expect(report.rendered(asJSON: true).contains(#""path":"./\u001b[2J\n.txt""#))
    }
}
