// Each house rule with a sample that breaks it and a similar one that does not. A rule that cannot fail would check
// nothing.

import Testing

struct RuleTests {
    private func file(_ text: String, _ path: String = "Sources/DNSWire/Sample.swift") -> SourceFile {
        SourceFile(path: path, text: text)
    }

    private func lines(_ count: Int) -> String { String(repeating: "let line = 1\n", count: count) }

    @Test("file length")
    func fileLength() {
        #expect(Rules.fileLength(file(lines(700))).isEmpty && !Rules.fileLength(file(lines(701))).isEmpty)
        #expect(!Rules.fileLength(file(lines(701), "scripts/run")).isEmpty)
        #expect(Rules.fileLength(file(lines(701), "README.md")).isEmpty)
    }

    @Test(
        "function length",
        arguments: [
            "func work() {\n", "init?(x: Int) {\n", "    var sum: Int {\n", "deinit {\n",
            "subscript(at: Int) -> Int {\n",
            "func work(\n  a: Int\n) {\n", "static let table = {\n",
        ])
    func functionLength(head: String) {
        let headLines = head.count { $0 == "\n" }
        let longest = head + lines(60 - headLines - 1) + "}\n"
        let tooLong = head + lines(60 - headLines) + "}\n"
        #expect(Rules.functionLength(file(longest)).isEmpty)
        #expect(
            Rules.functionLength(file(tooLong)) == [
                Complaint(path: "Sources/DNSWire/Sample.swift", line: 1, what: "61 lines in one function")
            ])
        // The type around a function and a brace in a string do not count.
        #expect(Rules.functionLength(file("struct Long {\n" + longest + longest + "}\n")).isEmpty)
        #expect(Rules.functionLength(file("func text() {\n  let a = \"{\"\n}\n" + lines(80))).isEmpty)
        #expect(
            Rules.functionLength(file("protocol P {\n  func ask()\n  func tell()\n}\nstruct S {\n" + lines(80) + "}\n"))
                .isEmpty)
    }

    @Test("line length")
    func lineLength() {
        let line = "// " + String(repeating: "é", count: 117)
        #expect(Rules.lineLength(file(line)).isEmpty && !Rules.lineLength(file(line + "x")).isEmpty)
    }

    @Test("what a file opens with")
    func head() {
        #expect(!Rules.head(file("import A\n")).isEmpty && !Rules.head(file("/// Doc.\nstruct A {}\n")).isEmpty)
        #expect(Rules.head(file("// Why.\nimport A\n")).isEmpty)
        #expect(!Rules.head(file(String(repeating: "// Why.\n", count: 6))).isEmpty)
        #expect(Rules.head(file("// Why.\n//\n// Invariants\n// - a\n// - b\n// - c\n")).isEmpty)
    }

    @Test("classes with deadlines")
    func timedParts() {
        let path = "Sources/Daemon/Loop/Sample.swift"
        let body = "    private(set) var nextDeadline: Instant?\n}\n"
        #expect(!Rules.timedParts(file("final class Part {\n" + body, path)).isEmpty)
        #expect(Rules.timedParts(file("final class Part: TimedPart {\n" + body, path)).isEmpty)
        #expect(Rules.timedParts(file("struct Part {\n" + body, path)).isEmpty)
        #expect(Rules.timedParts(file("final class ProviderTest {\n" + body, path)).isEmpty)
        #expect(Rules.timedParts(file("final class Part {\n" + body)).isEmpty)
    }

    @Test("parts that no list of parts has")
    func unlistedParts() {
        let part = file("final class Clock: TimedPart {\n}\n", "Sources/Daemon/Loop/Clock.swift")
        let list = "    var timedParts: [any TimedPart] {\n        [A]\n    }\n"
        let owner = "final class Owner {\n    let clock: Clock\n\(list)}\n"
        let path = "Sources/Daemon/Loop/Owner.swift"
        #expect(Rules.unlistedParts(in: [part, file(owner.replacing("A", with: "clock"), path)]).isEmpty)
        #expect(Rules.unlistedParts(in: [part, file(owner.replacing("A", with: "other"), path)]).count == 1)
        let own = "final class Loop: TimedPart {\n    var timedParts: [any TimedPart] { [self] }\n}\n"
        #expect(Rules.unlistedParts(in: [file(own, path)]).isEmpty)
    }

    @Test("a place that a recipe lacks is found; a comment is none")
    func recipes() {
        let recipe = "**A thing**\n\n1. Add it to `Sources/One/Things.swift` and `etc/man`.\n\n## Code\n`Sources/Two`\n"
        let files = [
            file(recipe, "CONTRIBUTING.md"), file("case Sample\n", "Sources/One/Things.swift"),
            file("let a = sam_Ple\n", "Sources/Two/Other.swift"), file("// a sample\n", "Sources/Two/Comment.swift"),
            file(".B sample\n", "etc/man/a.1"), file("sample\n", "etc/completion/b"),
        ]
        let found = Documents.missingPlaces(of: "A thing", whichMade: "sample", in: files)
        #expect(found.map(\.path) == ["Sources/Two/Other.swift", "etc/completion/b"])
    }

    @Test("a class of the daemon writes log events to the outbox")
    func outbox() {
        let path = "Sources/Daemon/Loop/Sample.swift"
        let body = "    func takeNews() -> [LogEvent] { [] }\n}\n"
        #expect(!Rules.outbox(file("final class Part {\n" + body, path)).isEmpty)
        #expect(Rules.outbox(file("struct Part {\n" + body, path)).isEmpty)
        #expect(Rules.outbox(file("final class QueryWatches {\n" + body, path)).isEmpty)
        #expect(Rules.outbox(file("final class Part {\n" + body)).isEmpty)
    }

    @Test("the last newline")
    func lastNewline() {
        #expect(
            !Rules.lastNewline(file("a", "etc/a.toml")).isEmpty && Rules.lastNewline(file("a\n", "etc/a.toml")).isEmpty)
        #expect(Rules.lastNewline(file("", "etc/empty")).isEmpty)
    }

    @Test(
        "file names",
        arguments: [
            "QueryHelper", "Utils", "Common", "String+Trim", "StringExtensions", "Types", "Constants", "AnswerData",
        ])
    func fileNames(stem: String) {
        #expect(!Rules.fileName(file("", "Sources/DNSWire/\(stem).swift")).isEmpty)
    }

    @Test("file names that say something", arguments: ["DataLayout", "Name", "Database", "RecordType", "Informant"])
    func goodFileNames(stem: String) {
        #expect(Rules.fileName(file("", "Sources/DNSWire/\(stem).swift")).isEmpty)
    }

    @Test(
        "type names",
        arguments: [
            "struct QueryManager {", "final class AnswerService: Sendable {", "enum Utils {",
            "package protocol RequestProcessor {",
            "typealias UserInfo = Int", "private struct Base {",
        ])
    func typeNames(line: String) {
        #expect(!Rules.typeNames(file(line)).isEmpty)
        #expect(Rules.typeNames(file("// " + line)).isEmpty && Rules.typeNames(file("let text = \"\(line)\"")).isEmpty)
    }

    @Test("words that put something off")
    func promises() {
        for word in ["TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"] {
            #expect(!Rules.promises(file("// \(word): later\n")).isEmpty)
            #expect(!Rules.promises(file("# \(word)\n", "scripts/run")).isEmpty)
            #expect(Rules.promises(file("let a\(word)X = 1\n")).isEmpty)
        }
    }

    @Test("vague words", arguments: ["nobody", "Somebody", "whoever", "WHOM"])
    func vagueWords(word: String) {
        let complaint = Complaint(
            path: "Sources/DNSWire/Sample.swift", line: 2, what: "\(word): name the program or the person")
        #expect(Rules.vagueWords(file("// Why.\n// It asks \(word).\n")) == [complaint])
        for path in ["etc/man/httpdnsd.8", "etc/httpdnsd.toml", "README.md"] {
            #expect(Rules.vagueWords(file("\(word)'s \(word)\n", path)).count == 2)
        }
        #expect(Rules.vagueWords(file("\(word)\n", "Tests/X/A.swift")).isEmpty)
        #expect(Rules.vagueWords(file("\(word)\n", "Tests/X/README.md")).isEmpty)
        #expect(Rules.vagueWords(file("// un\(word)s, \(word)Else\n")).isEmpty)
        // The UNIX user has a number.
        #expect(Rules.vagueWords(file("// uid 65534 (\(word))\n")).isEmpty)
    }

    @Test("comments without a subject")
    func fragments() {
        for text in [
            "Nil: none.", "Nil without a store.", "Of accounts.", "Those in use.", "Likewise.", "By name.",
            "As the loop does: time first, then one result.", "In milliseconds; nil: none.", "With an anchor",
        ] {
            let sample = file("// Why.\nstruct A {\n    /// \(text)\n    let a: Int?\n}\n")
            #expect(!Rules.fragments(sample).isEmpty, "\(text)")
        }
        #expect(Rules.fragments(file("/// The store; nil: none.\n/// Of accounts.\nlet a = 1\n")).isEmpty)
        for text in [
            "For outages: their number.", "At least one address is verified.", "By default, it is off.",
            "After the\n/// end, nothing happens.",
        ] {
            #expect(Rules.fragments(file("/// \(text)\nlet a = 1\n", "Tests/X/A.swift")).isEmpty, "\(text)")
        }
    }

    @Test("vague words may stay, and not become more")
    func vagueWordsRise() {
        let files = [file("// nobody\n"), file("// whom\n", "README.md")]
        #expect(Rules.vagueWordsRise(in: files, over: 2).isEmpty)
        #expect(Rules.vagueWordsRise(in: files, over: 1).map(\.path) == ["Sources/DNSWire/Sample.swift", "README.md"])
    }

    @Test("folders of one machine")
    func machinePaths() {
        for folder in ["home", "root", "work", "Users"] {
            #expect(!Rules.machinePaths(file("see /\(folder)/me/file\n", "README.md")).isEmpty)
        }
        #expect(Rules.machinePaths(file("/etc/httpdnsd/httpdnsd.toml /var/lib/httpdnsd /run/x\n", "README.md")).isEmpty)
    }

    @Test("calls that stop the process")
    func traps() {
        for text in ["try" + "! run()", "a as" + "! B", "fatal" + "Error(\"no\")"] {
            #expect(!Rules.traps(file("let a = \(text)\n", "Tests/X/X.swift")).isEmpty)
            #expect(Rules.traps(file("// let a = \(text)\n")).isEmpty)
        }
    }

    @Test(
        "force unwraps", arguments: ["name!", "list[0]!", "call()!", "a!.b", "a?.b!.c", "var x: String!", "f(a!, b)"])
    func forceUnwraps(text: String) {
        #expect(!Rules.forceUnwraps(file(text)).isEmpty)
        #expect(Rules.forceUnwraps(file(text, "Tests/X/X.swift")).isEmpty)
    }

    @Test(
        "exclamation marks that unwrap nothing",
        arguments: [
            "a != b", "a!=b", "!isTrue", "f(!a)", "#if !DEBUG", "\"no!\"", "// no!", "[!a]", "#\"a\"!\"#",
            "\"\\(a(\"b\"))!\"",
        ])
    func noForceUnwraps(text: String) {
        #expect(Rules.forceUnwraps(file(text)).isEmpty)
    }

    @Test("access levels")
    func accessLevels() {
        #expect(!Rules.accessLevels(file("pub" + "lic struct A {}\n")).isEmpty)
        #expect(Rules.accessLevels(file("package struct A {} // the pub" + "lic\nlet publicSuffix = 1\n")).isEmpty)
    }

    @Test("promises that the compiler cannot check")
    func uncheckedPromises() throws {
        let listed = try #require(Rules.uncheckedFiles.sorted().first)
        let promise = "final class A: @unchecked " + "Sendable {}\n"
        #expect(!Rules.uncheckedPromises(file("// Proof.\n" + promise)).isEmpty)
        #expect(!Rules.uncheckedPromises(file("import B\n" + promise, listed)).isEmpty)
        #expect(Rules.uncheckedPromises(file("/// Proof.\n@safe\n" + promise, listed)).isEmpty)
        #expect(!Rules.uncheckedPromises(file("nonisolated(" + "unsafe) var a = 1\n")).isEmpty)
    }

    @Test("uses of a higher layer, and circles")
    func layers() {
        let low = file("struct Low { var high: High? }\n", "Sources/M/Low/A.swift")
        let high = file("package enum High { case a }\nextension Low { struct Own {} }\n", "Sources/M/High/B.swift")
        let own = file("struct Other {\n    struct High {}\n    let high: High\n}\n", "Sources/M/Low/C.swift")
        let layers = Layers([low, high, own])
        #expect(
            layers.arrowsUp(["Low", "High"]).map(\.description)
                == ["Sources/M/Low/A.swift:1: uses High of Sources/M/High/B.swift"])
        #expect(layers.arrowsUp(["High", "Low"]).count == 1)
        #expect(layers.arrowsUp(["High"]).count == 2)
        #expect(layers.largestCircle() == [high.path, low.path])
        #expect(Layers([low, own]).largestCircle().isEmpty)
    }

    @Test("imports")
    func imports() {
        #expect(Arrows.imports(file("import Glibc\n")).count == 1)
        #expect(Arrows.imports(file("package import struct Foundation.Data\n", "Sources/HTTPDNS/A.swift")).count == 1)
        #expect(Arrows.imports(file("import FoundationEssentials\n", "Sources/HTTPDNS/A.swift")).count == 1)
        #expect(Arrows.imports(file("import DNSWire\n", "Sources/Serving/A.swift")).isEmpty)
        #expect(Arrows.imports(file("import Serving\n", "Sources/Resolver/A.swift")).count == 1)
        #expect(Arrows.imports(file("import Foundation\n", "Tests/X/A.swift")).count == 1)
        #expect(Arrows.imports(file("\n", "Sources/Stranger/A.swift")).count == 1)
        #expect(Arrows.imports(file("// import Glibc\nlet important = 1\n")).isEmpty)
    }

    @Test("the manifest's arrows")
    func manifest() {
        let good = Arrows.allowed.map { name, imports in
            let targets = imports.filter { !["Glibc", "Synchronization", "FoundationEssentials"].contains($0) }
            return
                "        module(\n            \"\(name)\", [\(targets.map { "\"\($0)\"" }.joined(separator: ", "))]),"
        }.sorted().joined(separator: "\n")
        func complaints(_ text: String) -> [String] {
            Arrows.manifest(file(text, "Package.swift")).map(\.what)
        }
        #expect(complaints(good).isEmpty)
        let extra = good.replacing("\"Crypto\", [\"COpenSSL\"", with: "\"Crypto\", [\"COpenSSL\", \"LinuxIO\"")
        #expect(complaints(extra) == ["Crypto gets [\"LinuxIO\"]"])
        let missing = good.replacing("\"Crypto\", [\"COpenSSL\"", with: "\"Crypto\", [")
        #expect(complaints(missing) == ["Crypto lacks [\"COpenSSL\"]"])
        let gone = good.replacing("\"Crypto\", [", with: "\"Cryptos\", [")
        #expect(complaints(gone) == ["Crypto is in the table and not here"])
    }

    @Test("what lies at the top level")
    func topLevel() {
        #expect(TopLevel.strangers(among: ["Sources", "docs", "README.md", "notes.txt"]) == ["docs", "notes.txt"])
    }

    @Test("comments and strings of every kind are told from code")
    func withoutTexts() {
        let code = SwiftCode.withoutTexts(
            "a /* b /* c */ d */ e // f\ng \"h\\\"i\" j \"\"\"\nk \"l\" m\n\"\"\" n #\"o\\\"# "
                + "p \"\\(q(\"r\") + s)t\" #if"
        )
        #expect(code.split { $0 == " " || $0 == "\n" } == ["a", "e", "g", "j", "n", "p", "#if"])
        #expect(code.count { $0 == "\n" } == 3)
    }
}
