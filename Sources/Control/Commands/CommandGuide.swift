// The text of `help`. The usage in refusals comes from the same table, and a test compares it with the shell
// completions.

/// One form of a command, as `help` shows it.
struct CommandForm {
    let usage: String
    let summary: String
    /// Usage and summary of each option, such as "--for DURATION".
    var options: [(usage: String, summary: String)] = []

    init(_ usage: String, _ summary: String, _ options: [(usage: String, summary: String)] = []) {
        self.usage = usage
        self.summary = summary
        self.options = options
    }
}

package enum CommandGuide {
    /// Returns the overview of all commands, or the help for one command.
    static func text(_ word: Command.Word?) -> String {
        guard let word else { return overview }
        let forms = word.forms.flatMap { form in
            [form.usage, "    \(form.summary)"]
                + LineFormat.aligned(form.options.map { [$0.usage, $0.summary] }).map { "    \($0)" }
        }
        return (forms + ["Example: httpdnsctl \(word.example)", word.whoMayAsk, word.asJSON]).map { "\($0)\n" }.joined()
    }

    private static var overview: String {
        let forms = Command.Word.allCases.flatMap(\.forms)
        let lines = forms.map { LineFormat.spaced([$0.usage, $0.summary], widths: [usageWidth]) }
        let reserved = Command.Word.allCases.filter { $0.reserved == .wholly }.map(\.rawValue)
        return
            (lines + [
                #"All take --json, and can be sent as JSON: {"command":"flush","name":"www.example.com","tree":true}"#,
                "A duration is 1s to 30d, such as 10m or 2h. \"help COMMAND\" shows options and an example.",
                "Only root and the daemon's own user and group may run \(reserved.joined(separator: ", ")),",
                "rule add and rm, providers reset and test, network names --write, query --no-cache and --provider,",
                "watch and recorder dump with --clients.",
            ]).map { "\($0)\n" }.joined()
    }

    /// The column at which summaries start; a longer usage shifts its own summary.
    private static let usageWidth = 42

    static func report(_ word: Command.Word?) -> HelpReport {
        let words = word.map { [$0] } ?? Command.Word.allCases
        return HelpReport(
            commands: words.map(\.rawValue),
            forms: words.flatMap { word in
                word.forms.map { form in
                    HelpReport.Form(
                        command: word.rawValue, usage: form.usage, summary: form.summary,
                        options: form.options.map { HelpReport.Option(usage: $0.usage, summary: $0.summary) })
                }
            })
    }
}

struct HelpReport: Codable, Equatable, Sendable {
    let commands: [String]
    let forms: [Form]

    struct Form: Codable, Equatable, Sendable {
        let command: String
        let usage: String
        let summary: String
        let options: [Option]
    }

    struct Option: Codable, Equatable, Sendable {
        let usage: String
        let summary: String
    }
}

extension Command.Word {
    /// The usage of the command, as refusals show it.
    var usage: String {
        let usages = forms.map(\.usage)
        return usages == [rawValue] ? "--json" : usages.joined(separator: ", ")
    }

    /// The usage of the form with this verb.
    func usage(_ verb: some RawRepresentable<String>) -> String {
        let words = "\(rawValue) \(verb.rawValue)"
        return forms.first { $0.usage == words || $0.usage.hasPrefix("\(words) ") }?.usage ?? usage
    }

    enum Reservation {
        case not, inPart, wholly
    }

    var reserved: Reservation {
        switch self {
        case .flush, .prefetch, .httpdns, .verify, .log, .reload: .wholly
        case .rule, .providers, .network, .query, .watch, .recorder: .inPart
        default: .not
        }
    }

    fileprivate var whoMayAsk: String {
        guard !isCarriedOutByClient else {
            return "httpdnsctl carries it out itself, with the rights of the user who runs it."
        }
        return switch reserved {
        case .not: "Every user who can open the socket may run it."
        case .inPart:
            "Only root and the daemon's own user and group may change state, cause traffic or see clients."
        case .wholly: "Only root and the daemon's own user and group may run it."
        }
    }

    fileprivate var asJSON: String { "With --json: one JSON object per line." }
}
