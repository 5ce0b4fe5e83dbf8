// Compares the texts in the sources with the table of translations.

import Settings
import TestSupport
import Testing

@testable import httpdnsctl

@Suite("Translations")
struct TranslationTests {
    /// What the folders of texts have besides texts, in the order of the files: other programs' words, commands, and
    /// formats.
    private static let others: Set<String> = [
        // Commands, which are the same in all languages.
        "chmod a+r", "chmod a+rx", "ip route", "ip -6 route", "status --json", "stats --json", "fleet --json",
        "%1 --json", "uid %1",
        "hosts: %1",
        // States, and words in files of the machine.
        "active", "inactive", "unresolved", "down", "blocked", "connect", "dns", "resolve", "hosts", "nameserver", "lo",
        "microsoft", "noeviction", "proxy", "probe", "https", "http",
        // Programs.
        "httpdnsd", "Docker", "Podman", "systemctl", "systemd", "init", "dnsmasq", "unbound", "named", "nsd", "kresd",
        "connmand", "NetworkManager", "dhclient", "dhcpcd",
        // URLs, and keys and values of settings and flags.
        "sdns", "tls", "quic", "udp", "tcp", "server", "provider", "listen", "allow", "url", "none", "dialect = %1",
        // Parts of the settings parser's complaints, system calls, and verbs of systemctl.
        "and no addresses;", ": found without ", "fchown", "restart", "start",
    ]

    /// Words without which there is no English sentence.
    private static let english: Set<Substring> = [
        "a", "an", "and", "are", "be", "by", "can", "for", "from", "has", "have", "is", "it", "its", "not", "of", "or",
        "that", "the", "their", "this", "to", "was", "with",
    ]

    /// ASCII words of translations that their English texts do not have.
    private static let names: Set<String> = ["DNS", "ID", "IP", "IPv6", "resolv.conf"]

    /// Files of texts; a name without suffix is a folder.
    private static let places = ["Doctor", "Setup", "Takeover/Rewriters.swift", "Takeover/WriteRemedy.swift"]
    /// The settings file is English, because others read it, too.
    private static let notTranslated: Set<String> = ["SetupText.swift"]

    /// Texts that the test takes for names, and that of `LocalizedText` itself.
    private static let composed: Set<String> = ["Next:", "%1 and %2 more", "%1 [%2]:", "%1:", "%1: %2", "%1, %2; %3"]

    /// Values of tables of the settings.
    private static let tables = Set(
        Settings.Provider.Preset.all.flatMap { [$0.company, $0.country] }
            + VendorAccount.all.flatMap { [$0.company, $0.product] })

    private struct Found: Sendable {
        let place: String
        let template: String
    }

    private static let found = Result { try texts() }

    private static func texts() throws -> (texts: [Found], faults: [String], others: Set<String>) {
        var (texts, faults, others): ([Found], [String], Set<String>) = ([], [], [])
        for path in try files() {
            let source = String(decoding: try TestFile.bytes(at: path), as: UTF8.self)
            for literal in try StringLiteral.all(in: source) where isText(literal) {
                let place = "\(path):\(literal.line)"
                if TranslationTests.others.contains(literal.template) {
                    others.insert(literal.template)
                } else if literal.isNested || literal.template.contains("\n") {
                    faults.append("\(place): no text of one piece: \(literal.template)")
                } else {
                    texts.append(Found(place: place, template: literal.template))
                }
            }
        }
        return (texts, faults, others)
    }

    private static func files() throws -> [String] {
        let tests = TestFile.folder(of: TestFile.folder(of: #filePath))
        let folder = TestFile.folder(of: tests) + "/Sources/httpdnsctl"
        func files(_ path: String) throws -> [String] {
            guard !path.hasSuffix(".swift") else { return [path] }
            return try TestFile.names(in: path).flatMap { try files("\(path)/\($0)") }
        }
        return try places.flatMap { try files("\(folder)/\($0)") }
            .filter { path in !notTranslated.contains { path.hasSuffix("/\($0)") } }
    }

    /// Whether the literal is for people: it has an English word, and is not one word with signs, such as a path.
    private static func isText(_ literal: StringLiteral) -> Bool {
        guard !literal.before.hasSuffix("verbatim:"), !literal.before.hasSuffix("command(") else { return false }
        let words = literal.template.split(whereSeparator: \.isWhitespace)
        let isName = words.count == 1 && !literal.template.allSatisfy(\.isLetter)
        let isCommand = words.first == "sudo"
        return !isName && !isCommand && words.contains { word in word.contains { $0.isLowercase } && word.count > 1 }
    }

    @Test("each text in the sources has a translation")
    func complete() throws {
        let (texts, faults, _) = try TranslationTests.found.get()
        #expect(faults.isEmpty, "\(faults.joined(separator: "\n"))")
        #expect(texts.count > 200)
        let missing = texts.filter { Translations.chinese[$0.template] == nil }
        #expect(missing.isEmpty, "\(missing.map { "\($0.place): \($0.template)" }.joined(separator: "\n"))")
    }

    @Test("each country of a provider has a translation")
    func countries() {
        for preset in Settings.Provider.Preset.all {
            #expect(Translations.chinese[preset.country] != nil, "\(preset.country)")
        }
    }

    @Test("each translation has a text in the sources, and there is one of each")
    func used() throws {
        let (texts, _, others) = try TranslationTests.found.get()
        let known = Set(texts.map(\.template)).union(TranslationTests.composed).union(TranslationTests.tables)
        let unused = Translations.pairs.map(\.english).filter { !known.contains($0) }
        #expect(unused.isEmpty, "\(unused.joined(separator: "\n"))")
        #expect(Translations.pairs.count == Translations.chinese.count)
        #expect(others == TranslationTests.others, "\(TranslationTests.others.subtracting(others))")
    }

    @Test("a translation has the placeholders of its text, each once or more")
    func placeholders() {
        func placeholders(_ text: String) -> Set<Character?> {
            Set(text.split(separator: "%", omittingEmptySubsequences: false).dropFirst().map(\.first)).filter {
                $0?.isNumber ?? false
            }
        }
        for (english, chinese) in Translations.pairs {
            #expect(placeholders(english) == placeholders(chinese), "\(english)")
        }
    }

    @Test("a translation is Chinese: its ASCII words are commands, options, keys and names of the English text")
    func chinese() {
        for (english, chinese) in Translations.pairs {
            #expect(
                chinese.unicodeScalars.contains { $0.properties.isIdeographic } || chinese.hasPrefix("%1"), "\(chinese)"
            )
            #expect(!english.unicodeScalars.contains { $0.value > 0x7F }, "\(english)")
            let runs = chinese.split { !$0.isASCII || $0 == " " }
            #expect(TranslationTests.english.isDisjoint(with: runs), "\(chinese)")
            for run in runs where !english.contains(run) {
                let words = run.split { !$0.isLetter && !$0.isNumber && $0 != "." }.map(String.init)
                let unknown = words.filter { !english.contains($0) && !TranslationTests.names.contains($0) }
                #expect(unknown.isEmpty, "\(unknown): \(chinese)")
            }
        }
    }

    @Test("a translation uses the punctuation of Chinese")
    func punctuation() {
        for (_, chinese) in Translations.pairs {
            let characters = Array(chinese)
            for (before, mark) in zip(characters, characters.dropFirst()) where ",;:?!()".contains(mark) {
                #expect(before.isASCII, "\(chinese)")
            }
        }
    }

    @Test("literals are read as the compiler reads them")
    func literals() throws {
        let source = #"""
            let a = "one \(b.map { "two \($0)" } ?? "") \"three\"" // "four"
            let c: T = """
                five \
                six \(d)
                seven
                """
            """#
        let found = try StringLiteral.all(in: source)
        #expect(found.map(\.template) == ["two %1", "", "one %1 \"three\"", "five six %1\nseven"])
        #expect(found.map(\.isNested) == [true, true, false, false] && found.map(\.line) == [1, 1, 1, 2])
    }

    @Test(
        "what cannot be read is refused", arguments: [##"let a = #"x"#"##, "/* \"x\" */", #"let a = "x"#, #""\u{}""#])
    func refused(source: String) {
        #expect(throws: StringLiteral.Unreadable(line: 1)) { try StringLiteral.all(in: source) }
    }
}
