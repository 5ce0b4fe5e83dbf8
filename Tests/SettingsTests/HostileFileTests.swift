// Generated files: parsing any bytes ends with settings or complaints.

import FoundationEssentials
import Settings
import TestSupport
import Testing

@Suite("Hostile files")
struct HostileFileTests {
    private static let fragments = [
        "\"", "'", "\"\"\"", "'''", "\\", "\n", "\r", "[", "]", "{", "}", "[[", "]]", "=", ",", ".", "a", "-", "0x",
        "1", "1e9", "2020-01-01", "T", "00:00:00", "Z", "inf", "true", "#", " ", "\t", "\\u", "\\ud800", "\0", "é",
        "[server]\n", "[[provider]]\n", "listen = ", "threads = 1\n", "name = \"a\"\n", "cache.size = ", "\u{FEFF}",
        "[provider.template]\n", "v4 = \"a\"\n", "shadow = 0.5\n", "proxy = \"http://u:p@a\"\n", "[[rule]]\n",
        "match = [\"\\u00fc\\u200d\"]\n", "resolver = \"a\"\n",
    ]

    @Test("random pieces of TOML never stop the process, and complaints point into the file")
    func randomPieces() throws {
        let seed: UInt64 = 0x5E77_1265
        var random = SeededRandom(seed: seed)
        var accepted = 0
        for round in 0..<1500 {
            let count = Int.random(in: 0..<25, using: &random)
            var bytes = (0..<count).flatMap { _ in
                Array((HostileFileTests.fragments.randomElement(using: &random) ?? "").utf8)
            }
            if round.isMultiple(of: 10), !bytes.isEmpty {
                bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            do throws(SettingsError) {
                _ = try Settings.parse(bytes: bytes, file: "f")
                accepted += 1
            } catch {
                let lines = bytes.count { $0 == UInt8(ascii: "\n") } + 1
                for complaint in error.complaints {
                    let isInside = (1...lines + 1).contains(complaint.line) && complaint.column >= 1
                    #expect(isInside, "seed \(seed) round \(round): \(complaint) in \(bytes)")
                }
            }
        }
        #expect(accepted > 0)
    }

    @Test("every beginning of a good file is read or complained about")
    func truncations() {
        let bytes = Array(Settings.defaults.effectiveTOML.utf8)
        for count in bytes.indices {
            _ = try? Settings.parse(bytes: Array(bytes[..<count]), file: "f")
        }
    }

    @Test("reading again and again keeps no memory")
    func memory() async {
        // The test runs in a process of its own, because other tests allocate memory too.
        await #expect(processExitsWith: .success) {
            let prefixes = (0..<256).map { "\"10.0.\($0).0/24\",\n" }.joined()
            let good = Array("[server]\nallow = [\n\(prefixes)]\n".utf8)
            let bad = good + Array("[server]\n".utf8)
            let read = { (count: Int) in
                for _ in 0..<count {
                    _ = try? Settings.parse(bytes: good, file: "f")
                    _ = try? Settings.parse(bytes: bad, file: "f")
                }
            }
            read(50)
            let before = try residentKibibytes()
            read(200)
            // A leak of one value per document would be 200 times 256 times its 200 bytes.
            let grown = try residentKibibytes() - before
            precondition(grown < 4096, "grown by \(grown) KiB")
        }
    }
}

private func residentKibibytes() throws -> Int {
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") })
    return try #require(line.split(whereSeparator: { " \t".contains($0) }).dropFirst().first.flatMap { Int($0) })
}
