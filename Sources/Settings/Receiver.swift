// The operator's settings of a receiver of events: its URL, the events that it gets, and the key that signs them.

package import DNSWire

extension Settings {
    /// An HTTP server that gets events as JSON by POST.
    package struct Receiver: Equatable, Sendable {
        package enum Event: String, CaseIterable, Sendable {
            /// An address of one source is mismatched while another source's is verified.
            case evidence
            /// Every provider fails.
            case outage
            /// An outage has ended.
            case recovery
        }

        package var url: ReceiverURL
        /// The addresses to dial; one or more.
        package var addresses: [Address]
        /// The events, one or more, all different.
        package var events = Event.allCases
        /// The key that signs, in the form of `Provider.keyFile`; nil: no signature.
        package var keyFile: String?
        /// The absolute path of a file with certificate authorities; nil: the system's.
        package var caFile: String?

        /// The keys that name the file of a secret, as in `Provider.secretFiles`.
        package var secretFiles: [(key: String, file: String)] { keyFile.map { [("key-file", $0)] } ?? [] }
    }

    /// A URL whose path and query may hold a token.
    package struct ReceiverURL: Equatable, Sendable {
        package let location: ProviderURL
        /// The part after "?"; nil if there is none.
        package let query: String?

        package init(location: ProviderURL, query: String?) {
            self.location = location
            self.query = query
        }

        package init?(_ text: String) {
            let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
            let query = parts.count > 1 ? String(parts[1]) : nil
            guard text.utf8.count <= ProviderURL.maxBytes, let first = parts.first,
                let location = ProviderURL(String(first)), query?.utf8.allSatisfy(ReceiverURL.isOfQuery) ?? true
            else { return nil }
            self.init(location: location, query: query)
        }

        /// Path and query, as in a request line.
        package var target: String { location.path + (query.map { "?\($0)" } ?? "") }

        /// Scheme, host and port, which hold no token.
        package var origin: String { String(location.description.dropLast(location.path.utf8.count)) }

        /// Whether a query may have the byte (RFC 3986 section 3.4), or it is a bracket that form libraries leave
        /// unescaped.
        private static func isOfQuery(_ byte: UInt8) -> Bool {
            (0x21...0x7E).contains(byte) && !"#\\\"<>^`{|}".utf8.contains(byte)
        }
    }
}

extension Settings.ReceiverURL: CustomStringConvertible {
    package var description: String { location.description + (query.map { "?\($0)" } ?? "") }
}

extension Settings.Receiver: KeyedElement {
    /// Maximum number of addresses, as for a provider.
    private static let maxAddresses = 16

    static let empty = Self(url: .init(location: .empty, query: nil), addresses: [])
    static let required: KeyValuePairs = ["url": "\"https://HOST/PATH\""]

    static let keys: [Key<Settings.Receiver>] = [
        Key("url", \.url, .receiverURL),
        Key("addresses", \.addresses, Format.address.list(of: "IP addresses", 0...maxAddresses)),
        Key(
            "events", \.events,
            Format<Settings.Receiver.Event>.choice.list(
                of: "of \"evidence\", \"outage\" and \"recovery\"", 1...Settings.Receiver.Event.allCases.count)),
        Key("key-file", \.keyFile, Format.keyFile.orEmpty()),
        Key("ca-file", \.caFile, Format.path().orEmpty()),
    ]

    func completed(_ given: Set<String>) -> Self? {
        guard given.contains("url") else { return nil }
        var receiver = self
        receiver.addresses = url.location.dialled(addresses)
        return receiver.addresses.isEmpty ? nil : receiver
    }

    func contradictions(_ given: Set<String>) -> [Contradiction] {
        guard given.contains("url") else { return [] }
        var list: [Contradiction] = []
        if case .name(let host) = url.location.host, addresses.isEmpty {
            list.append(
                (
                    "url",
                    "notify.url: found the host name \(quoted(host)) and no addresses; the daemon does not "
                        + "resolve names through itself: add addresses = [\"...\"] with the server's addresses"
                ))
        }
        if caFile != nil, !url.location.isSecure {
            list.append(("ca-file", "notify.ca-file: found with an http URL; allowed: with https"))
        }
        if Set(events).count < events.count {
            list.append(("events", "notify.events: found one for the second time; allowed: each once"))
        }
        return list
    }
}
