// The house rules that a program can check, each a function from a file to its complaints. Forbidden words are composed
// of parts, so that this file obeys the rules.

enum Rules {
    static let maxFileLines = 700
    static let maxFunctionLines = 60
    static let maxLineLength = 120
    static let maxHeadLines = 5

    // MARK: size

    static func fileLength(_ file: SourceFile) -> [Complaint] {
        let count = file.text.count { $0 == "\n" }
        guard file.isProgram, count > maxFileLines else { return [] }
        return [Complaint(path: file.path, line: count, what: "the file has more than \(maxFileLines) lines")]
    }

    static func functionLength(_ file: SourceFile) -> [Complaint] {
        guard file.isSwift else { return [] }
        return SwiftCode.bodies(in: file.code).filter { $0.lineCount > maxFunctionLines }.map {
            Complaint(path: file.path, line: $0.firstLine, what: "\($0.lineCount) lines in one function")
        }
    }

    static func lineLength(_ file: SourceFile) -> [Complaint] {
        guard file.isProgram else { return [] }
        return complaints(file, file.lines) { $0.count > maxLineLength ? "\($0.count) columns" : nil }
    }

    static func head(_ file: SourceFile) -> [Complaint] {
        guard file.isSwift else { return [] }
        let count = file.lines.prefix { $0.hasPrefix("//") && !$0.hasPrefix("///") }.count
        guard count == 0 || (count > maxHeadLines && !statesInvariants(file)) else { return [] }
        return [Complaint(path: file.path, line: 1, what: "\(count) lines say what the file is for")]
    }

    /// Whether the head has several paragraphs. Data structures begin with their invariants, and state machines with
    /// their diagram, at any length.
    private static func statesInvariants(_ file: SourceFile) -> Bool {
        file.lines.prefix { $0.hasPrefix("//") }.contains("//")
    }

    static func lastNewline(_ file: SourceFile) -> [Complaint] {
        guard !file.text.isEmpty, !file.text.hasSuffix("\n") else { return [] }
        return [Complaint(path: file.path, line: file.lines.count, what: "no newline at the end")]
    }

    // MARK: deadlines

    /// The classes whose owners pass on their deadlines.
    private static let partsOfParts: Set<String> = [
        "KernelTables", "NetworkMonitor", "ProviderTest", "RedisLink", "SecureStreams",
    ]

    /// A class of the daemon that has a deadline and is no `TimedPart` would never get a turn.
    static func timedParts(_ file: SourceFile) -> [Complaint] {
        complaints(aboutMembersOfDaemonsClasses: file) { name, type, line in
            guard line.contains("var nextDeadline"), !type.contains("TimedPart"), !partsOfParts.contains(name) else {
                return nil
            }
            return "the class \(name) has a deadline and is no TimedPart"
        }
    }

    /// A part that no `timedParts` names would never get a turn. A part is known by the properties that have its class,
    /// and by `self` in its own file.
    static func unlistedParts(in files: [SourceFile]) -> [Complaint] {
        let sources = files.filter { $0.isSwift && $0.isSource }
        var properties: [Substring: Set<Substring>] = [:]
        var listed: Set<Substring> = []
        for file in sources {
            listed.formUnion(wordsOfTimedParts(in: file))
            for line in file.codeLines where line.contains("let ") || line.contains("var ") {
                let words = SwiftCode.words(line).map(\.word)
                guard let keyword = words.firstIndex(where: { $0 == "let" || $0 == "var" }), keyword + 2 < words.count
                else { continue }
                properties[words[keyword + 2], default: []].insert(words[keyword + 1])
            }
        }
        return sources.flatMap { file in
            complaints(file, file.codeLines) { line in
                guard line.contains(": TimedPart"), let type = SwiftCode.words(line).map(\.word).part else {
                    return nil
                }
                let isListed = properties[type]?.contains(where: listed.contains) ?? false
                return isListed || wordsOfTimedParts(in: file).contains("self") ? nil : "no timedParts has \(type)"
            }
        }
    }

    /// The words in the bodies of `timedParts`.
    private static func wordsOfTimedParts(in file: SourceFile) -> [Substring] {
        var words: [Substring] = []
        var isInside = false
        for line in file.codeLines {
            if line.contains("var timedParts") { isInside = true }
            guard isInside else { continue }
            words += SwiftCode.words(line).map(\.word)
            isInside = !line.hasPrefix("    }") && !line.hasSuffix(" }")
        }
        return words
    }

    /// The classes with their own outlet for log events about queries.
    private static let ownLines: Set<String> = ["QueryWatches"]

    /// A class that returns log events: the loop may forget to take them, and each turn pays for the call.
    static func outbox(_ file: SourceFile) -> [Complaint] {
        complaints(aboutMembersOfDaemonsClasses: file) { name, _, line in
            guard line.contains("func "), line.contains("-> [LogEvent]"), !ownLines.contains(name) else { return nil }
            return "the class \(name) returns log events instead of writing them to the Outbox"
        }
    }

    private static func complaints(
        aboutMembersOfDaemonsClasses file: SourceFile,
        _ check: (_ name: String, _ type: Substring, _ line: Substring) -> String?
    ) -> [Complaint] {
        let isOfDaemon = ["Sources/Daemon/", "Sources/Upstreams/"].contains(where: file.path.hasPrefix)
        guard file.isSwift, isOfDaemon else { return [] }
        var type: Substring = ""
        return complaints(file, file.codeLines) { line in
            if line.first?.isLetter == true { type = line }
            guard line.hasPrefix("    "), !line.hasPrefix("     ") else { return nil }
            let words = SwiftCode.words(type).map(\.word)
            guard let keyword = words.firstIndex(of: "class"), keyword + 1 < words.count else { return nil }
            return check(String(words[keyword + 1]), type, line)
        }
    }

    // MARK: words

    private static let emptyNouns: Set<String> = [
        "Manager", "Helper", "Helpers", "Util", "Utils", "Utility", "Utilities", "Processor", "Service",
        "Base",
        "Impl", "Info", "Data", "Extras", "Common", "Extensions",
    ]

    static func fileName(_ file: SourceFile) -> [Complaint] {
        guard file.isSwift else { return [] }
        let stem = String(file.name.dropLast(".swift".count))
        let isDrawer = ["Types", "Constants"].contains(stem) || stem.contains("+")
        guard isDrawer || emptyNouns.contains(lastWord(of: stem)) else { return [] }
        return [Complaint(path: file.path, line: 1, what: "the file's name says nothing of its job")]
    }

    static func typeNames(_ file: SourceFile) -> [Complaint] {
        guard file.isSwift else { return [] }
        let keywords: Set<Substring> = ["struct", "class", "enum", "protocol", "typealias", "actor"]
        return complaints(file, file.codeLines) { line in
            let words = SwiftCode.words(line).map(\.word)
            let names = zip(words, words.dropFirst()).filter { keywords.contains($0.0) }.map { String($0.1) }
            return names.first { emptyNouns.contains(lastWord(of: $0)) }.map {
                "the name \($0) says nothing of its job"
            }
        }
    }

    /// The last word of a name: "RecordData" gives "Data".
    private static func lastWord(of name: String) -> String {
        guard let start = name.lastIndex(where: \.isUppercase) else { return name }
        return String(name[start...])
    }

    static func promises(_ file: SourceFile) -> [Complaint] {
        let words: Set<Substring> = ["TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"]
        return complaints(file, file.lines) { line in
            SwiftCode.words(line).first { words.contains($0.word) }.map { "\($0.word): open an issue or do it" }
        }
    }

    static func machinePaths(_ file: SourceFile) -> [Complaint] {
        let folders = ["home", "root", "work", "Users"].map { "/" + $0 + "/" }
        return complaints(file, file.lines) { line in
            folders.first { line.contains($0) }.map { "\($0) is a folder of one machine" }
        }
    }

    private static let vagueWords: Set<String> = ["nobody", "somebody", "whoever", "whom"]
    /// The number of remaining uses of vague words. Lower it with them.
    static let maxVagueWords = 2

    /// Words for an actor without a name. Lines with the number of the UNIX user nobody, 65534, are not counted.
    static func vagueWords(_ file: SourceFile) -> [Complaint] {
        let isDocument = !file.path.contains("/") && file.path.hasSuffix(".md")
        guard file.isSource || file.path.hasPrefix("etc/") || isDocument else { return [] }
        return file.lines.enumerated().filter { !$0.element.contains("65534") }.flatMap { index, line in
            line.split { !$0.isLetter }.filter { vagueWords.contains($0.lowercased()) }.map {
                Complaint(path: file.path, line: index + 1, what: "\($0): name the program or the person")
            }
        }
    }

    /// All uses of vague words if there are more than `limit`.
    static func vagueWordsRise(in files: [SourceFile], over limit: Int = maxVagueWords) -> [Complaint] {
        let found = files.flatMap(vagueWords)
        return found.count > limit ? found : []
    }

    private static let openings: Set<String> = ["Nil", "Those", "That", "Likewise", "Of", "They"]
    /// A sentence has a comma after a phrase with such an opening, and a labelled fact has a colon.
    private static let prepositions: Set<String> = [
        "After", "As", "At", "Before", "By", "For", "From", "In", "On", "Until", "With", "Without",
    ]

    /// A documentation comment that begins so has no subject: what is nil, or of what?
    static func fragments(_ file: SourceFile) -> [Complaint] {
        guard file.isSwift else { return [] }
        return documentation(file).compactMap { line, text in
            fragment(text).map {
                Complaint(path: file.path, line: line, what: "the comment begins with \($0): name what it describes")
            }
        }
    }

    /// The documentation comments with the number of their first line, each as one line.
    private static func documentation(_ file: SourceFile) -> [(line: Int, text: String)] {
        var comments: [(line: Int, text: String)] = []
        var isInside = false
        for (index, line) in file.lines.enumerated() {
            let text = line.drop { $0 == " " }
            defer { isInside = text.hasPrefix("///") }
            guard text.hasPrefix("///") else { continue }
            if !isInside { comments.append((index + 1, "")) }
            comments[comments.count - 1].text += text.dropFirst(3)
        }
        return comments
    }

    /// The first word of a comment without a subject; nil if it has one.
    private static func fragment(_ text: String) -> String? {
        let words = text.split { " :.;,".contains($0) }.prefix(2).map(String.init)
        guard let first = words.first, !openings.contains(first) else { return words.first }
        let isNumber = first == "At" && ["most", "least"].contains(words.last)
        guard prepositions.contains(first), !isNumber else { return nil }
        let end = [". ", "; ", ": "].compactMap { text.firstRange(of: $0)?.lowerBound }.min() ?? text.endIndex
        let isLabel = first != "As" && text[end...].hasPrefix(":")
        return isLabel || text[..<end].contains(",") ? nil : first
    }

    // MARK: safety

    static func traps(_ file: SourceFile) -> [Complaint] {
        guard file.isSwift else { return [] }
        let traps = ["try" + "!", "as" + "!", "fatal" + "Error("]
        return complaints(file, file.codeLines) { line in
            traps.first { line.contains($0) }.map { "\($0) stops the process" }
        }
    }

    static func forceUnwraps(_ file: SourceFile) -> [Complaint] {
        guard file.isSwift, file.isSource else { return [] }
        return complaints(file, file.codeLines) { line in
            let characters = Array(line)
            let isUnwrapped = characters.indices.dropFirst().contains { index in
                let before = characters[index - 1]
                let endsValue = before.isLetter || before.isNumber || ")]?_`".contains(before)
                let isComparison = index + 1 < characters.count && characters[index + 1] == "="
                return characters[index] == "!" && endsValue && !isComparison
            }
            return isUnwrapped ? "a value is unwrapped by force" : nil
        }
    }

    static func accessLevels(_ file: SourceFile) -> [Complaint] {
        guard file.isSwift else { return [] }
        return complaints(file, file.codeLines) { line in
            SwiftCode.words(line).contains { $0.word == "pub" + "lic" } ? "programs have no outside: use package" : nil
        }
    }

    /// The files with a promise that the compiler cannot check. The comment before each promise proves it.
    static let uncheckedFiles: Set<String> = [
        "Sources/Serving/Cache/AnswerCache.swift", "Sources/Serving/Cache/AnswerTable.swift",
        "Sources/Serving/Access/RateMeter.swift",
        "Sources/Crypto/LegacyCiphers.swift", "Sources/Telemetry/FlightMemory.swift",
        "Sources/LinuxIO/Process/RecordFile.swift", "Sources/PublicSuffix/RegistrableDomain.swift",
        "Sources/Telemetry/PublishedHistogram.swift",
        "Sources/Telemetry/Tally.swift",
    ]

    static func makesUncheckedPromise(_ file: SourceFile) -> Bool {
        file.isSwift && file.codeLines.contains(where: isUncheckedPromise)
    }

    static func uncheckedPromises(_ file: SourceFile) -> [Complaint] {
        guard file.isSwift else { return [] }
        let lines = file.lines
        return file.codeLines.enumerated().filter { isUncheckedPromise($0.element) }.compactMap { index, _ in
            guard uncheckedFiles.contains(file.path) else {
                return Complaint(path: file.path, line: index + 1, what: "this file is not on the list")
            }
            let before = lines[..<index].last { !$0.drop { $0 == " " }.hasPrefix("@") } ?? ""
            guard !before.drop(while: { $0 == " " }).hasPrefix("//") else { return nil }
            return Complaint(path: file.path, line: index + 1, what: "no proof stands before it")
        }
    }

    private static func isUncheckedPromise(_ line: Substring) -> Bool {
        line.contains("@unchecked " + "Sendable") || line.contains("nonisolated(" + "unsafe)")
    }

    static func complaints(
        _ file: SourceFile, _ lines: [Substring], _ finding: (Substring) -> String?
    ) -> [Complaint] {
        lines.enumerated().compactMap { index, line in
            finding(line).map { Complaint(path: file.path, line: index + 1, what: $0) }
        }
    }
}

extension [Substring] {
    /// The class that a line declares.
    fileprivate var part: Substring? { firstIndex(of: "class").flatMap { $0 + 1 < count ? self[$0 + 1] : nil } }
}
