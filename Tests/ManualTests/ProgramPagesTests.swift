// httpdnsd(8) and httpdnsctl(1) against the words of the programs: every option and command is there, and no other.

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
            let isKnown = (try? Options([option, "127.0.0.1:1"])) != nil || (try? Options([option])) != nil
            #expect(isKnown, "\(option)")
        }
    }

    @Test("httpdnsctl(1) has the options of its own")
    func controlOptions() throws {
        let page = try ManualPage("httpdnsctl.1")
        let known = options(in: Invocation.usage).union(["-h"])
        #expect(page.tags(under: "OPTIONS").reduce(into: []) { $0.formUnion(options(in: $1)) } == known)
    }

    @Test("httpdnsctl(1) has every command in every form, with its options, and no other")
    func commands() throws {
        let page = try ManualPage("httpdnsctl.1")
        let sections = ["What it does now", "Why, and what if", "The cache", "Upstreams"]
        let more = ["Addresses and their certificates", "The daemon"]
        let entries = page.entries.filter { (sections + more).contains($0.section) }
        let usages = Command.Word.allCases.flatMap { word -> [String] in
            let usage = word.usage.split(separator: ";").first.map(String.init) ?? ""
            return usage == "--json" ? [word.rawValue] : usage.split(separator: ", ").map(String.init)
        }
        #expect(entries.map(\.tag).sorted() == usages.sorted())
    }
}
