// A message of the log as an entry of the journal, with the event and its fields as fields of the entry.

extension LogLine {
    /// The entry in the journal's native protocol (systemd.io, JOURNAL_NATIVE_PROTOCOL). A field of several values has
    /// each of them.
    package var journalEntry: [UInt8] {
        var entry: [UInt8] = []
        LogLine.append("PRIORITY", "\(level.priority)", to: &entry)
        // The journal knows the name of the unit, but not the one that it shows in front of a line.
        LogLine.append("SYSLOG_IDENTIFIER", "httpdnsd", to: &entry)
        LogLine.append("MESSAGE", ([text] + details.map { "  \($0)" }).joined(separator: "\n"), to: &entry)
        LogLine.append("HTTPDNSD_EVENT", event, to: &entry)
        for (name, field) in fields.sorted(by: { $0.key < $1.key }) {
            for value in field.values { LogLine.append("HTTPDNSD_\(name.uppercased())", value, to: &entry) }
        }
        return entry
    }

    /// A value with a line feed has its size before it, in 8 bytes with the lowest first.
    private static func append(_ name: String, _ value: String, to entry: inout [UInt8]) {
        let bytes = Array(value.utf8)
        entry += name.utf8
        if bytes.contains(UInt8(ascii: "\n")) {
            entry.append(UInt8(ascii: "\n"))
            entry += stride(from: 0, to: 64, by: 8).map { UInt8(truncatingIfNeeded: bytes.count >> $0) }
        } else {
            entry.append(UInt8(ascii: "="))
        }
        entry += bytes
        entry.append(UInt8(ascii: "\n"))
    }
}

extension LogField {
    fileprivate var values: [String] {
        switch self {
        case .text(let text): [text]
        case .number(let number): ["\(number)"]
        case .list(let texts): texts
        }
    }
}
