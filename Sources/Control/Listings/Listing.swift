// A list that is rendered page by page, because the whole may be too large for memory. Text lines, or one line of JSON
// with all entries in one array.

package import DNSWire
package import Telemetry

/// One command's answer in pages.
package struct Listing<Entry: Encodable & Sendable>: Sendable {
    /// The last page.
    fileprivate enum End {
        /// The closing line, which makes truncation visible; and a member of the JSON object after the array, if any.
        case line(String, member: String? = nil)
        /// The only page of an empty list, as an error, so that scripts can detect it.
        case refusal(String)
    }

    private let wantsJSON: Bool
    private let head: String
    /// The line above the first entry, which names the columns; "": none.
    private let titles: String
    private let text: @Sendable (Entry) -> String
    private let ending: @Sendable (_ count: Int) -> End
    /// The key of an entry, of which only the first one with that key is shown; nil: all are shown.
    fileprivate var key: (@Sendable (Entry) -> String)?
    private var keys: Set<String> = []
    fileprivate var maxCount = Int.max
    private var count = 0

    /// - Parameter key: the name of the array.
    fileprivate init(
        _ key: String, wantsJSON: Bool, titles: String = "", text: @escaping @Sendable (Entry) -> String,
        ending: @escaping @Sendable (_ count: Int) -> End
    ) {
        head = "{\"\(key)\":["
        (self.wantsJSON, self.titles, self.text, self.ending) = (wantsJSON, titles, text, ending)
    }

    /// Whether further entries would not be shown.
    package var isFull: Bool { count >= maxCount }

    /// Returns the next page; empty if there are no entries.
    package mutating func page(of entries: [Entry]) -> String {
        var page = ""
        for entry in entries where !isFull && key.map({ keys.insert($0(entry)).inserted }) ?? true {
            let start = wantsJSON ? head : titles
            page +=
                (count == 0 ? start : wantsJSON ? "," : "") + (wantsJSON ? String(json(entry).dropLast()) : text(entry))
            count += 1
        }
        return page
    }

    /// Returns the last page, after all entries.
    package func end() -> String {
        switch ending(count) {
        case .line(let text, let member):
            wantsJSON ? (count == 0 ? head : "") + "]\(member.map { ",\($0)" } ?? "")}\n" : text
        case .refusal(let reason): Refusal(reason).text(asJSON: wantsJSON)
        }
    }
}

extension Listing<CacheEntryReport> {
    /// Cache entries. Text ends with a comment line that counts the entries. A list begins with a comment line that
    /// names the columns.
    package init(of view: CacheView, _ scope: QuestionScope, wantsJSON: Bool) {
        self.init("entries", wantsJSON: wantsJSON, titles: view == .list ? CacheEntryReport.header : "") { entry in
            entry.text(as: view)
        } ending: { count in
            guard view == .get else { return .line("; \(counted(count, "entry", "entries"))\n") }
            let type = scope.type.map { " \($0)" } ?? ""
            return count == 0 ? .refusal("no entry for \(scope.name)\(type)") : .line("")
        }
    }
}

extension Listing<AddressReport> {
    /// `verdicts`: one line per address, with details if one name is requested. If that is unknown, the answer is a
    /// refusal, so that scripts can detect it.
    ///
    /// - Parameter name: the requested name; nil: all names with a known state.
    package init(ofVerdictsOn name: Name?, wantsJSON: Bool) {
        self.init("verdicts", wantsJSON: wantsJSON, titles: AddressReport.titles) { address in
            address.row + (name == nil ? "" : address.details.joined())
        } ending: { count in
            guard let name else { return .line("; \(counted(count, "address", "addresses"))\n") }
            return count == 0 ? .refusal("no verdict for \(name)") : .line("")
        }
    }
}

extension Listing<EvidenceReport> {
    package init(wantsJSON: Bool) {
        self.init("evidence", wantsJSON: wantsJSON, text: \.text) { count in
            .line("; \(counted(count, "divergence", "divergences"))\n")
        }
    }
}

extension Listing<FlightEventReport> {
    /// Flight recorder events: one line per event, the oldest first.
    ///
    /// - Parameter scope: the setting of the daemon; the end says if it isn't all.
    package init(wantsJSON: Bool, scope: FlightScope = .all) {
        self.init("events", wantsJSON: wantsJSON, text: \.line) { count in
            let count = counted(count, "event", "events")
            return switch scope {
            case .all: .line("; \(count)\n")
            case .failures:
                .line(
                    "; \(count); only failed queries are recorded ([log] recorder)\n",
                    member: #""recorder":"failures""#)
            case .off:
                .line("; \(count); the flight recorder is off ([log] recorder)\n", member: #""recorder":"off""#)
            }
        }
    }
}

extension Listing<WhoisEntry> {
    /// `whois`: the names that have resolved to the address, each once.
    package init(of address: Address, wantsJSON: Bool) {
        self.init("names", wantsJSON: wantsJSON, text: \.line) { count in
            guard count > 0 else { return .refusal("no known name resolved to \(address)") }
            let more = count >= WhoisEntry.maxCount ? "; there may be more" : ""
            return .line("; \(counted(count, "name", "names"))\(more)\n")
        }
        (key, maxCount) = ({ $0.name.lowercased() }, WhoisEntry.maxCount)
    }
}
