// httpdnsd(8) and httpdnsctl(1), compared with the programs: the pages have all options, paths and commands, and no
// others.

import HTTPServer
import Resolver
import TestSupport
import Testing

@testable import Control
@testable import Daemon

@Suite("The manuals of the programs")
struct ProgramPagesTests {
    /// The options in a text: "--json", "-h".
    private func options(in text: String) -> Set<String> {
        let pieces = text.split { !"-abcdefghijklmnopqrstuvwxyz".contains($0) }.filter { $0.hasPrefix("-") }
        return Set(pieces.map(String.init).filter { $0.contains { $0 != "-" } })
    }

    @Test("httpdnsd(8) has the options of --help")
    func daemonOptions() throws {
        let page = try ManualPage("httpdnsd.8")
        let listed = Options.help.split(separator: "\n").filter { $0.hasPrefix("  --") }
        let usages = listed.map { $0.split(separator: " ").prefix { !($0.first?.isLowercase ?? true) } }
        let tags = page.tags(under: "OPTIONS").map { $0.replacing(", -h", with: "") }
        #expect(!usages.isEmpty && tags == usages.map { $0.joined(separator: " ") } + ["--help"])
        for option in tags.flatMap({ options(in: $0) }) {
            let isKnown = [[option], [option, "127.0.0.1:1"], ["--check", option, "name"]].contains { arguments in
                (try? Options(arguments)) != nil
            }
            #expect(isKnown, "\(option)")
        }
    }

    @Test("httpdnsd(8) has the paths that are served over HTTP")
    func paths() throws {
        let tags = try ManualPage("httpdnsd.8").tags(under: "METRICS")
        #expect(tags.sorted() == Page.allCases.map(\.rawValue).sorted())
    }

    @Test("httpdnsd(8) has every state of a provider and every verdict of a probe")
    func words() throws {
        let lines = try ManualPage("httpdnsd.8").lines
        let words = lines.compactMap { $0.hasSuffix("|T{") ? String($0.dropLast(3)) : nil }
        let known = ProviderState.allCases.map(\.rawValue) + Verdict.allCases.map(\.rawValue)
        #expect(words.filter(known.contains).sorted() == known.sorted())
    }

    @Test("httpdnsd(8) has the body of a notification with every event and every key")
    func notification() throws {
        let lines = try ManualPage("httpdnsd.8").lines.drop { !$0.hasPrefix(#"{"schema""#) }
        let end = try #require(lines.firstIndex { $0.hasSuffix("]}") })
        let example = lines[...end].joined()
        let report = try #require(decoded(example) as NotificationReport?, "\(example)")
        #expect(report.events.map(\.event) == NotificationReport.Event.Kind.allCases)
        let keys = { (text: String) in
            Set(text.split(separator: "\":").dropLast().compactMap { $0.split(separator: "\"").last })
        }
        #expect(keys(example) == keys(String(decoding: report.body, as: UTF8.self)))
    }

    @Test("httpdnsctl(1) has the options of its own")
    func controlOptions() throws {
        let page = try ManualPage("httpdnsctl.1")
        let usage = Invocation.usage.split(separator: "\n").filter { $0.contains("COMMAND") || $0.contains("--help") }
        let known = options(in: usage.joined(separator: " ")).union(["-h"])
        #expect(page.tags(under: "OPTIONS").reduce(into: []) { $0.formUnion(options(in: $1)) } == known)
    }

    @Test("httpdnsd(8) gives a user of Redis the rights of the ACL file")
    func rights() throws {
        let top = TestFile.folder(of: TestFile.folder(of: TestFile.folder(of: #filePath)))
        let file = String(decoding: try TestFile.bytes(at: "\(top)/etc/redis/httpdnsd.acl"), as: UTF8.self)
        let lines = file.split(separator: "\n")
        #expect(lines.count == 2 && lines[0] == "user default off")
        let command = "ACL SETUSER httpdnsd "
        let shown = try #require(try ManualPage("httpdnsd.8").lines.first { $0.hasPrefix(command) })
        #expect(lines.last == "user httpdnsd \(shown.dropFirst(command.count))")
    }

    private static let sections: Set<String> = [
        "What it does now", "Why, and what if", "The cache", "Upstreams", "Addresses and their certificates",
        "The daemon", "Without a daemon",
    ]

    private func entries() throws -> [ManualPage.Entry] {
        try ManualPage("httpdnsctl.1").entries.filter { ProgramPagesTests.sections.contains($0.section) }
    }

    @Test("httpdnsctl(1) has every form of every command with its options, and no other")
    func commands() throws {
        let entries = try entries()
        let forms = Command.Word.allCases.flatMap(\.forms)
        #expect(entries.map(\.tag).sorted() == forms.map(\.usage).sorted())
        for form in forms {
            let entry = entries.first { $0.tag == form.usage }.map { "\($0.tag) \($0.text)" } ?? ""
            let known = options(in: form.usage).union(form.options.flatMap { options(in: $0.usage) })
            #expect(options(in: entry) == known, "\(form.usage)")
        }
    }

    private static let arguments = [
        "NAME": "www.example.com", "NAME...": "www.example.com", "TYPE": "AAAA", "ADDRESS": "192.0.2.1",
        "DURATION": "10m", "GLOB": "*.example", "LEVEL": "debug", "COMMAND": "stats",
        "FILE": "/file",
    ]

    @Test("what httpdnsctl(1) says can be asked is understood, with every option at once")
    func understood() throws {
        for entry in try entries() {
            // The last one of several exclusive words is used.
            let words = entry.tag.filter { $0 != "[" && $0 != "]" }.split(separator: " ").map { word in
                word.split(separator: "|").last.map(String.init) ?? ""
            }
            let arguments = words.map { ProgramPagesTests.arguments[$0] ?? $0 }
            #expect(throws: Never.self, "\(arguments)") {
                guard case .ask(let line, _) = try Invocation(arguments: arguments) else { return }
                _ = try Request(line: Array(line.utf8))
            }
        }
    }
}
