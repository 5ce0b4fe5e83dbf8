// A rule's `answer`, `cname`, `txt` and `srv`: the daemon's own answer for its names.

package import DNSWire

extension Settings.Rule {
    package enum OwnAnswer: Equatable, Sendable {
        /// A reply without records, to block the names.
        package enum Refusal: String, CaseIterable, Sendable {
            /// NXDOMAIN.
            case noSuchName = "nxdomain"
            /// NOERROR.
            case noData = "nodata"
            /// REFUSED.
            case refused
        }

        case refusal(Refusal)
        /// The addresses, 1 to 16.
        case addresses([Address])
    }

    /// The extended error of the answer (RFC 8914 sections 4.16 to 4.18).
    package enum BlockingError: String, CaseIterable, Sendable {
        case blocked, censored, filtered
    }

    /// The bounds of the number of records. A reply with all of them fits one datagram in most cases.
    static let recordCounts = 1...16

    /// Whether the daemon answers itself, so that no upstream is asked for the names.
    var answersItself: Bool { answer != nil || cname != nil || !txt.isEmpty || !srv.isEmpty }

    private static let answerKeys = ["answer", "extended-error", "cname", "txt", "srv"]

    /// Keys that contradict each other.
    var answerContradictions: [(key: String?, text: String)] {
        let records = [("txt", !txt.isEmpty), ("srv", !srv.isEmpty)].filter(\.1).map(\.0)
        let list: [(key: String?, text: String)]
        if cname != nil, answer != nil || !records.isEmpty {
            let others = (answer.map { _ in ["answer"] } ?? []) + records
            list = [
                (
                    "cname",
                    "rule.cname: found with \(others.joined(separator: " and ")); allowed: without, as an alias has "
                        + "no other records (RFC 1034 section 3.6.2)"
                )
            ]
        } else if case .refusal = answer, !records.isEmpty {
            list = [
                (
                    "answer",
                    "rule.answer: found with \(records.joined(separator: " and ")); allowed: without, or an array of "
                        + "IP addresses"
                )
            ]
        } else {
            list = []
        }
        return list + needlessKeys
    }

    /// Keys about upstreams, which have no effect on names that the daemon answers.
    private var needlessKeys: [(key: String?, text: String)] {
        let given = Settings.Rule.keys.filter { $0.write(self) != nil }.map(\.name)
        if extendedError != nil, answer == nil {
            return [
                (
                    "extended-error",
                    "rule.extended-error: found without answer; write, for example, answer = \"nxdomain\""
                )
            ]
        }
        guard let key = given.first(where: Settings.Rule.answerKeys.contains) else { return [] }
        let others = given.filter { !Settings.Rule.answerKeys.contains($0) && !Settings.Rule.conditions.contains($0) }
        guard !others.isEmpty else { return [] }
        return [
            (
                key,
                "rule.\(key): found with \(others.joined(separator: ", ")); allowed: without, as no upstream is asked "
                    + "for these names"
            )
        ]
    }
}

extension Format<Settings.Rule.OwnAnswer> {
    static let ownAnswer: Format = {
        let refusal = Format<Settings.Rule.OwnAnswer.Refusal>.choice
        let addresses = Format<Address>.address.list(of: "IP addresses", Settings.Rule.recordCounts)
        let allowed = "\(refusal.allowed), or \(addresses.allowed)"
        return Format(
            allowed: allowed, schema: .either(refusal.schema(), addresses.schema()),
            read: { node throws(Misfit) in
                switch node.value {
                case .array: return .addresses(try addresses.read(node))
                case .string(let text) where Address(text) != nil:
                    throw Misfit(node, allowed: allowed, remedy: "brackets are missing: write [\(tomlString(text))]")
                default:
                    do throws(Misfit) {
                        return .refusal(try refusal.read(node))
                    } catch {
                        throw error.replacing(refusal.allowed, with: allowed)
                    }
                }
            },
            write: { answer in
                switch answer {
                case .refusal(let word): refusal.write(word)
                case .addresses(let list): addresses.write(list)
                }
            })
    }()
}

extension Format<String> {
    /// Maximum size of a text: it fits on a line of a settings file even with every character escaped.
    private static let maxTextBytes = 2000

    static let recordText = Format.text(
        allowed: "at most \(maxTextBytes) bytes without control characters",
        schema: .matching("[^\\x00-\\x1F\\x7F-\\x9F]*", maxBytes: maxTextBytes),
        parse: { text in
            let isPlain = text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
            return isPlain && text.utf8.count <= maxTextBytes ? text : nil
        },
        write: { $0 })
}

extension Format<ServiceLocation> {
    static let serviceLocation = Format.text(
        allowed: "\"PRIORITY WEIGHT PORT TARGET\", such as \"0 5 5060 sip.example.com\"; numbers up to 65535",
        schema: .matching("(\(TextPattern.number(0...65_535)) ){3}[^ ]+"),
        parse: { ServiceLocation($0) }, write: \.description)
}
