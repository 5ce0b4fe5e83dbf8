// The name of a shared answer in Redis: a code that only members can compute, so that Redis holds no readable names.

package import Crypto
package import DNSWire

/// The terms that a shared answer depends on.
package struct EntryTerms: Equatable, Sendable {
    package let question: Question
    /// Members that see the Internet from one place, such as "sh-a": other sites may be given other addresses.
    package let site: String
    /// The provider's identity. Providers with the same identity give the same answers (`SharedProvider.identity`).
    package let provider: String
    /// The client subnet that the provider gets; nil: none.
    package let clientSubnet: Prefix?
    /// The rules that an answer has to satisfy, as in `Policy.acceptanceDigest`; nil: none.
    package let rules: String?

    package init(_ question: Question, site: String, provider: String, clientSubnet: Prefix?, rules: String?) {
        self.question = question
        self.site = site
        self.provider = provider
        self.clientSubnet = clientSubnet
        self.rules = rules
    }
}

extension FleetKeys {
    /// Returns the entry's names in Redis, one for each key: the first for writing, all for reading.
    package func entries(_ terms: EntryTerms) throws(CryptoError) -> [String] {
        let question = terms.question
        let fields: [[UInt8]] = [
            Array(terms.site.utf8), question.name.lowercasedWire, question.type.rawValue.bigEndianBytes,
            [question.dnssec.rawValue], Array(terms.provider.utf8), Array((terms.clientSubnet?.description ?? "").utf8),
            Array((terms.rules ?? "").utf8),
        ]
        return try names(FleetKeys.entryKind, "entry", fields)
    }

    /// Whether a name in Redis is one of `entries`, or could be.
    func isEntry(_ name: String) -> Bool { keys.contains { name.hasPrefix($0.prefix + FleetKeys.entryKind) } }

    private static let entryKind = "e:"

    /// Returns the names in Redis that depend on the fields, one for each key.
    ///
    /// - Parameter kind: the text between the key's prefix and the digest.
    func names(_ kind: String, _ purpose: String, _ fields: [[UInt8]]) throws(CryptoError) -> [String] {
        var names: [String] = []
        for key in keys { names.append(try key.name(kind, purpose, fields)) }
        return names
    }
}

extension FleetKeys.Key {
    /// 128 bits: that two entries have the same name is improbable.
    private static let nameBytes = 16

    fileprivate func name(_ kind: String, _ purpose: String, _ fields: [[UInt8]]) throws(CryptoError) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(prefix.utf8.count + kind.utf8.count + 2 * FleetKeys.Key.nameBytes)
        text += prefix.utf8
        text += kind.utf8
        for byte in try code(purpose, fields).prefix(FleetKeys.Key.nameBytes) {
            text.append(hexadecimal: byte >> 4)
            text.append(hexadecimal: byte & 15)
        }
        return String(decoding: text, as: UTF8.self)
    }
}

extension [UInt8] {
    fileprivate mutating func append(hexadecimal digit: UInt8) { append(digit < 10 ? 0x30 + digit : 0x57 + digit) }
}

extension Name {
    fileprivate var lowercasedWire: [UInt8] { wire.map { 0x41...0x5A ~= $0 ? $0 | 0x20 : $0 } }
}
