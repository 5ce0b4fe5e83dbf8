// All scenarios of the folders, and a test that a scenario can fail.

import TestSupport
import Testing

@Suite("Scenarios")
struct ScenarioTests {
    private static let folder = TestFile.folder(of: TestFile.folder(of: #filePath)) + "/Scenarios/"

    struct File: Sendable, CustomTestStringConvertible {
        /// The path below the folder of all scenarios: `stale/stale-sleep.scenario`.
        let path: String
        let title: String

        var name: String { path.split(separator: "/").last.map(String.init) ?? path }
        var testDescription: String { "\(path): \(title)" }
    }

    private static func files() throws -> [File] {
        try paths(below: "").map { path in
            // A file that cannot be read fails in its own test.
            File(path: path, title: (try? ScenarioScript(path: folder + path).title) ?? "")
        }
    }

    /// Returns the paths of all scenarios below `prefix`, sorted. A name without a dot is a folder.
    private static func paths(below prefix: String) throws -> [String] {
        try TestFile.names(in: folder + prefix).flatMap { name in
            if name.hasSuffix(".scenario") { return [prefix + name] }
            return name.contains(".") ? [] : try paths(below: prefix + name + "/")
        }
    }

    @Test("scenarios are found, and no two files share a name")
    func names() throws {
        let names = try ScenarioTests.files().map(\.name)
        #expect(!names.isEmpty)
        let repeated = Dictionary(grouping: names) { $0 }.filter { $0.value.count > 1 }.keys.sorted()
        #expect(repeated.isEmpty)
    }

    @Test("the resolver does what the scenario says", arguments: try files())
    func scenario(_ file: File) throws {
        try ScenarioRun.run(try ScenarioScript(path: ScenarioTests.folder + file.path))
    }

    private static let sound = """
        title  one answer
        given  provider a any, provider b any, system
        at 0ms   client 1 asks www.example A
                 expect fetch a
                 expect wake 400ms
        at 20ms  a answers 192.0.2.7 ttl 60
                 expect store 192.0.2.7 ttl 60 from a
                 expect reply 1 192.0.2.7 ttl 60 from a
        """

    @Test("the scenario that the wrong ones are made of is right")
    func soundScenario() throws {
        try ScenarioRun.run(try ScenarioScript(file: "sound", text: ScenarioTests.sound))
    }

    @Test(
        "a wrong scenario fails at its line",
        arguments: [
            ("fetch a", "fetch b", 4, "expected fetch"),
            ("fetch a", "fetch c", 4, "no upstream \"c\""),
            ("fetch a", "fetching a", 4, "nothing that the resolver does"),
            ("fetch a", "fetch a now", 4, "not understood"),
            ("fetch a", "fetch", 4, "the line ends before"),
            ("expect fetch a", "", 3, "not expected"),
            ("wake 400ms", "wake 401ms", 5, "the deadline is at 400.0 ms"),
            ("wake 400ms", "wake 400", 5, "instead of a time"),
            ("wake 400ms", "fetch b", 5, "nothing came"),
            ("at 20ms", "at 400.1ms", 6, "the deadline at 400.0 ms is not a step"),
            ("at 20ms", "at 20ms wakes\nexpect nothing\nat 20ms", 6, "the deadline is at"),
            ("at 0ms", "at 30ms", 6, "time goes backwards"),
            ("a answers", "b answers", 6, "no fetch from b runs"),
            ("a answers", "a says", 6, "instead of \"fails\""),
            ("a answers 192", "a answers late 192", 6, "no fetch from a has ended"),
            ("a answers 192.0.2.7 ttl 60", "a fails slowly", 6, "is no failure"),
            ("reply 1 192.0.2.7", "reply 1 192.0.2.8", 8, "expected reply"),
            ("reply 1", "reply 2", 8, "client 2 asked nothing"),
            ("7 ttl 60 from a\n", "7 ttl 61 from a\n", 7, "expected store"),
            ("given ", "gave ", 2, "instead of title, given, at, until or expect"),
            ("provider a any", "provider a all", 2, "instead of a, addresses or any"),
            ("system\n", "system, stale recheck\n", 2, "the line ends before a time"),
            ("system\n", "system, rule www.example stale yes\n", 2, "instead of \"off\""),
            ("at 20ms", "until 500ms", 6, "not understood"),
            ("at 20ms", "until 500ms\nexpect nothing\nat 500ms", 6, "not expected: fetch for www.example A b at 400"),
            ("fetch a", "fetch a between 1ms and 2ms", 4, "it came at 0.0 ms"),
            (
                "expect reply 1 192.0.2.7 ttl 60", "expect reply 1 192.0.2.7 ttl 60 stale by fate #", 8,
                "instead of timeout,"
            ),
        ])
    func wrongScenario(_ right: String, _ wrong: String, _ line: Int, _ complaint: String) {
        let changed = ScenarioTests.replacingFirst(right, with: wrong, in: ScenarioTests.sound)
        let error = #expect(throws: ScenarioError.self) {
            try ScenarioRun.run(try ScenarioScript(file: "wrong", text: changed))
        }
        #expect(error?.description.hasPrefix("wrong:\(line): ") == true, "\(String(describing: error))")
        #expect(error?.description.contains(complaint) == true, "\(String(describing: error))")
    }

    @Test("a scenario that ends in the middle of a lookup fails")
    func unfinishedScenario() {
        let lines = ScenarioTests.sound.split(separator: "\n").prefix(5)
        #expect(throws: ScenarioError.self) {
            try ScenarioRun.run(try ScenarioScript(file: "unfinished", text: lines.joined(separator: "\n")))
        }
    }

    private static func replacingFirst(_ old: String, with new: String, in text: String) -> String {
        guard let range = text.firstRange(of: old) else { preconditionFailure("\"\(old)\" is not in the text") }
        return String(text[..<range.lowerBound]) + new + String(text[range.upperBound...])
    }
}
