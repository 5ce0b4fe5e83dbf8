// One log message, in the three forms of the log. Its text cannot start a new line or move a cursor.

package struct LogLine: Equatable, Sendable {
    package let level: LogLevel
    /// A stable name of the event, such as "provider-down".
    package let event: String
    package let text: String
    /// Further lines, such as the complaints about a settings file.
    package let details: [String]
    /// Fields of the event. Their names are none of `time`, `level`, `event`, `text` and `details`.
    package let fields: [String: LogField]

    /// Maximum size of a text: enough for a list of many nameservers or providers; longer text is truncated.
    private static let maxTextBytes = 4096

    package init(
        _ level: LogLevel, _ event: String, _ text: String, details: [String] = [], fields: [String: LogField] = [:]
    ) {
        self.level = level
        self.event = event
        self.text = text.shown(maxBytes: LogLine.maxTextBytes)
        self.details = details.map { $0.shown(maxBytes: LogLine.maxTextBytes) }
        self.fields = fields.mapValues { $0.shown(maxBytes: LogLine.maxTextBytes) }
    }

    /// The message for a terminal or a file.
    package var plain: String { "httpdnsd: \(text)\n" + details.map { "  \($0)\n" }.joined() }

    /// The message for the journal's end of standard error. Each line starts with a priority that the journal strips
    /// (sd-daemon(3)). The journal adds the program's name.
    package var forJournal: String {
        ([text] + details.map { "  \($0)" }).map { "<\(level.priority)>\($0)\n" }.joined()
    }

    /// The message as a JSON object on one line.
    ///
    /// - Parameter milliseconds: the time since 1970.
    package func object(at milliseconds: Int64) -> String {
        var members: [String: LogField] = fields
        members["time"] = .text(LineFormat.timestamp(millisecondsSince1970: milliseconds))
        members["level"] = .text(level.rawValue)
        members["event"] = .text(event)
        members["text"] = .text(text)
        if !details.isEmpty { members["details"] = .list(details) }
        return json(members)
    }

    /// Returns the message with a count of its repetitions, instead of repeating it.
    package func again(_ times: Int, inSeconds seconds: Int) -> LogLine {
        var fields = fields
        fields["times"] = .number(times)
        fields["seconds"] = .number(seconds)
        return LogLine(
            level, event, "\(text) (again \(times) \(times == 1 ? "time" : "times") in \(seconds) s)", details: details,
            fields: fields)
    }
}

package enum LogField: Encodable, Equatable, Sendable {
    case text(String)
    case number(Int)
    case list([String])

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .text(let text): try container.encode(text)
        case .number(let number): try container.encode(number)
        case .list(let texts): try container.encode(texts)
        }
    }

    fileprivate func shown(maxBytes: Int) -> LogField {
        switch self {
        case .text(let text): .text(text.shown(maxBytes: maxBytes))
        case .number: self
        case .list(let texts): .list(texts.map { $0.shown(maxBytes: maxBytes) })
        }
    }
}

extension LogLevel {
    /// The priority numbers of syslog(3).
    var priority: Int {
        switch self {
        case .error: 3
        case .warning: 4
        case .info: 6
        case .debug: 7
        }
    }

    /// Whether a message of this level is logged while `level` is set.
    package func isLogged(at level: LogLevel) -> Bool { priority <= level.priority }
}
