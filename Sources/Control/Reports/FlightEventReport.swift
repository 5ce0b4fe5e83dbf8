// An event of the flight recorder, as text and JSON. Client addresses are left out unless requested. The text is safe
// to print.

import DNSWire
package import Telemetry

package struct FlightEventReport: DataReport, Codable, Equatable {
    /// The time: "2026-11-21 12:34:56.123456Z".
    package let time: String
    /// The kind of event: "answered", "fetch-ended", ...
    package let kind: String
    /// The name without the final dot.
    package let name: String?
    package let type: String?
    /// The source of the answer, by the names of `stats`.
    package let source: String?
    package let code: String?
    package let extendedError: Int?
    /// How long a client waited or an operation took.
    package let microseconds: Int?
    /// The result of the event.
    package let outcome: String?
    /// The upstream: a provider's name, or "system"; "rule NAME" or "list PATH" if it blocked the name.
    package let upstream: String?
    package let transport: String?
    /// The client's address.
    package let client: String?
    /// The address that the event is about.
    package let address: String?

    package enum CodingKeys: String, CodingKey {
        case time, kind, name, type, source, code, outcome, upstream, transport, client, address
        case extendedError = "ede"
        case microseconds = "us"
    }

    /// - Parameters:
    ///   - word: the word table that the event was recorded with.
    ///   - bootMicroseconds: the time when the machine booted, since 1970.
    package init(
        _ event: FlightEvent, bootMicroseconds: Int64, showsClients: Bool, word: (FlightWord) -> String
    ) {
        let elapsed = Int64(truncatingIfNeeded: event.nanoseconds / 1000)
        time = LineFormat.preciseMoment(microsecondsSince1970: bootMicroseconds &+ elapsed)
        kind = event.kind.word
        name = event.name?.description
        type = event.type?.description
        source = event.source == .none ? nil : "\(event.source)"
        code = event.kind.hasCode ? event.code.description : nil
        extendedError = event.extendedError.map(Int.init)
        microseconds = event.microseconds > 0 ? Int(event.microseconds) : nil
        outcome =
            event.network == 0
            ? FlightEventReport.shown(word(event.outcome)) : LineFormat.network(Int(event.network))
        upstream = FlightEventReport.shown(word(event.upstream))
        transport = event.transport?.word
        let address = event.address?.description
        client = event.kind.isOfClient && showsClients ? address : nil
        self.address = event.kind.isOfClient ? nil : address
    }

    private static func shown(_ word: String) -> String? {
        word.isEmpty ? nil : word.shown(maxBytes: FlightStrings.maxBytes)
    }
}

extension FlightEventReport {
    /// The fields for a structured log, whose lines have their own time.
    package var logFields: [String: LogField] {
        let texts = [
            "kind": kind, "name": name, "type": type, "source": source, "code": code, "outcome": outcome,
            "upstream": upstream, "transport": transport, "client": client, "address": address,
        ].compactMapValues { $0.map { LogField.text($0) } }
        let numbers = ["ede": extendedError, "us": microseconds].compactMapValues { $0.map { LogField.number($0) } }
        return texts.merging(numbers) { text, _ in text }
    }

    /// The event as one row, in columns: "12:34:56.123456Z  answered    www.example.com A  cache, NOERROR, 14 us, udp".
    package var line: String {
        let question = [name, type].compactMap { $0 }.joined(separator: " ")
        let cells = [timeOfDay, kind, question.isEmpty ? "-" : question]
        return LineFormat.spaced(cells + (known.isEmpty ? [] : [known]), widths: FlightEventReport.widths) + "\n"
    }

    /// The event without its name, for lists about one name: "12:34:56.123456Z answered A: cache, NOERROR, 14 us, udp".
    package var fact: String {
        [timeOfDay, kind, type].compactMap { $0 }.joined(separator: " ") + (known.isEmpty ? "" : ": \(known)")
    }

    private var timeOfDay: String { String(time.dropFirst(11)) }

    private var known: String {
        let details: [String?] = [
            source, upstream, outcome, code, extendedError.map { "EDE \($0)" }, address,
            microseconds.map { "\(LineFormat.grouped($0)) us" }, transport, client.map { "from \($0)" },
        ]
        return details.compactMap { $0 }.joined(separator: ", ")
    }

    /// Widths of a time, the longest kind and a typical question.
    private static let widths = [16, 17, 36]
}

extension FlightEvent.Kind {
    /// A query that is dropped gets no response.
    fileprivate var hasCode: Bool { endsQuery && self != .dropped }

    fileprivate var word: String {
        switch self {
        case .answered: "answered"
        case .handedOver: "handed-over"
        case .refused: "refused"
        case .dropped: "dropped"
        case .fetchBegun: "fetch-begun"
        case .fetchEnded: "fetch-ended"
        case .stored: "stored"
        case .refreshBegun: "refresh-begun"
        case .probeEnded: "probe-ended"
        case .divergence: "divergence"
        case .providerChanged: "provider-changed"
        case .networkChanged: "network-changed"
        case .settingsReloaded: "settings-reloaded"
        }
    }
}
