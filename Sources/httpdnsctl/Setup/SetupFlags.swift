// The command line of `httpdnsctl setup`. Each answer has a flag; the values are read by `SetupAnswers`.

/// Why a command line or an answer is refused, and what is allowed.
struct SetupRefusal: Error, Equatable {
    let reason: LocalizedText

    init(_ reason: LocalizedText) {
        self.reason = reason
    }
}

struct SetupFlags: Equatable, Sendable {
    /// The answers, in the order in which they are read and asked.
    enum Answer: String, CaseIterable, Sendable {
        case providers = "--providers"
        case providerAddresses = "--provider-addresses"
        case account = "--account"
        case accountID = "--account-id"
        case accessKey = "--access-key"
        case url = "--url"
        case addresses = "--addresses"
        case keyFile = "--key-file"
        case lan = "--lan"
        case allow = "--allow"
        case takeOver = "--take-over"
    }

    /// The output name for a file that is printed, as in a dry run.
    private static let standardOutput = "-"

    private(set) var answers: [Answer: String] = [:]
    private(set) var output: String
    /// Whether an existing file may be replaced; it is kept under another name.
    private(set) var replaces = false
    private(set) var isDryRun = false

    /// - Parameters:
    ///   - words: the arguments after `setup`.
    ///   - output: the file without `--output`.
    init(_ words: [String], output: String) throws(SetupRefusal) {
        self.output = output
        var seen: Set<String> = []
        var rest = words[...]
        while let word = rest.popFirst() {
            guard seen.insert(word).inserted else { throw SetupRefusal("\(word) is given twice") }
            switch word {
            case "--replace": replaces = true
            case "--dry-run": isDryRun = true
            case "--output":
                let path = try SetupFlags.value(of: word, from: &rest)
                if path == SetupFlags.standardOutput { isDryRun = true } else { self.output = path }
            default:
                guard let answer = Answer(rawValue: word) else {
                    throw SetupRefusal("unknown argument \(word) of setup")
                }
                answers[answer] = try SetupFlags.value(of: word, from: &rest)
            }
        }
    }

    private static func value(of flag: String, from rest: inout ArraySlice<String>) throws(SetupRefusal) -> String {
        guard let value = rest.popFirst(), !value.isEmpty, !value.hasPrefix("--") else {
            throw SetupRefusal("\(flag) needs a value")
        }
        return value
    }
}
