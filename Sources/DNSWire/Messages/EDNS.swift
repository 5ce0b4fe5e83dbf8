// EDNS(0) for a stub-facing server: reads the client's OPT record, defines ours and the extended errors.

package struct EDNS: Equatable, Sendable {
    /// Our advertised UDP payload size and the largest UDP reply; avoids fragments on every path (DNS flag day 2020).
    package static let ourPayloadBytes = 1232
    /// The size without EDNS, and the minimum for smaller values (RFC 1035 section 2.3.4, RFC 6891 section 6.2.3).
    package static let minPayloadBytes = 512
    /// Size of an OPT record without options: root name, type, payload size, extended code, version, flags and length.
    package static let emptyRecordBytes = 11

    package let payloadBytes: Int
    package let version: UInt8
    /// DO: the client understands signatures (RFC 3225 section 3).
    package var isDNSSECAware = false
    /// The query has an empty edns-tcp-keepalive option, as clients send it (RFC 7828 section 3.2.1).
    package var asksKeepalive = false
    /// The address family of a client subnet of length 0: no provider may learn where the client is (RFC 7871 section
    /// 7.1.2). Nil: the query has none.
    package var hiddenFamily: UInt16?
    /// The position of the first COOKIE option; further ones are ignored (RFC 7873 section 5.2). Not verified here.
    package var cookie: Cookie.Place?
}

extension EDNS {
    /// The client subnet (RFC 7871 section 6): code, length, family, and the lengths of source and scope.
    enum ClientSubnet {
        static let optionCode: UInt16 = 8
        static let sourceLengthOffset = 2
        /// Size of the option for a subnet of length 0.
        static let emptyOptionBytes = 8
    }

    /// edns-tcp-keepalive (RFC 7828): code, length and a timeout in units of 100 ms.
    enum Keepalive {
        static let optionCode: UInt16 = 11
        static let optionBytes = 6
        static let timeout = UInt16(StreamFraming.idleTimeoutSeconds * 10)
    }
}

/// An extended DNS error (RFC 8914) that explains an answer.
package struct ExtendedError: Hashable, Sendable {
    package let code: UInt16
    /// The text of the error: short, without control characters or secrets; an upstream's text has at most
    /// `maxUpstreamTextBytes`.
    package let text: String
    /// An upstream may send a code without a text.
    package var words: String { text.isEmpty ? "EDE \(code)" : "EDE \(code) \(text)" }

    package static let staleAnswer = ExtendedError(code: 3, text: "expired, and no upstream has answered")
    package static let staleNoSuchName = ExtendedError(code: 19, text: "expired, and no upstream has answered")
    /// The same code with the text for a query with RD=0.
    package var ofCacheOnly: ExtendedError {
        ExtendedError(code: code, text: "expired; with RD=0 no upstream is asked")
    }
    /// "Stale Answer" (3): an upstream denies the answer, and a certificate confirms it.
    package static func lastKnownGood(because reason: StaticString) -> ExtendedError {
        ExtendedError(code: staleAnswer.code, text: "\(lastKnownGoodText): \(reason)")
    }

    package var tellsLastKnownGood: Bool {
        code == ExtendedError.staleAnswer.code && text.hasPrefix(ExtendedError.lastKnownGoodText)
    }

    private static let lastKnownGoodText = "last known good answer"
    /// RFC 8914 sections 4.16 to 4.18: a rule answers in place of the name's own servers. "Blocked" (15): the operator
    /// of this resolver wants it. "Censored" (16): others require it. "Filtered" (17): the client's own operator
    /// requested it.
    package static let blockedByRule = ExtendedError(code: 15, text: ruleText)
    package static let censoredByRule = ExtendedError(code: 16, text: ruleText)
    package static let filteredByRule = ExtendedError(code: 17, text: ruleText)
    private static let ruleText = "answer of a rule"
    package static let filteredFamily = ExtendedError(code: 17, text: "no IPv6 route (filter-aaaa)")
    package static let familyOfRule = ExtendedError(code: 17, text: "another address family (family of a rule)")
    /// "Blocked" (15): the operator's policy forbids public names with local addresses.
    package static let filteredAddresses = ExtendedError(code: 15, text: "private addresses were taken out")
    /// "Forged Answer" (4): policy replaced the name's own answer.
    package static let fallbackAddresses = ExtendedError(code: 4, text: "fallback-addresses of a rule")
    /// The addresses were synthesised from IPv4 addresses (RFC 6147).
    package static let synthesised = ExtendedError(code: 29, text: "no IPv6 address of its own (DNS64)")
    /// "Cached Error" (13).
    package static let rememberedFailure = ExtendedError(code: 13, text: "it failed a moment ago")
    package static let onlyHere = ExtendedError(code: 18, text: "explanations are for this machine")
    package static let onlyWithKey = ExtendedError(
        code: 18, text: "explanations over DNS need the key that httpdnsctl status shows")
    package static let prohibited = ExtendedError(code: 18, text: "client is not in server.allow")
    /// "Not Authoritative" (20): RFC 8914 section 4.21 has it for a query with RD=0 that a resolver cannot answer.
    package static let notInCache = ExtendedError(code: 20, text: "not in the cache; with RD=0 no upstream is asked")
    package static let noReachableAuthority = ExtendedError(code: 22, text: "no upstream answered")
    package static let portalSuspected = ExtendedError(
        code: 22, text: "a portal is suspected: sign in to the network")
    package static let networkError = ExtendedError(code: 23, text: "every upstream failed")
    package static let noRoute = ExtendedError(code: 23, text: "no route to any provider")
    /// "Invalid Query Type" (30): RFC 9824.
    package static let invalidQueryType = ExtendedError(code: 30, text: "a type that cannot be asked for")
    package static let notReady = ExtendedError(code: 14, text: "too many queries are waiting")
    /// "Prohibited" (18): the settings or the operator keep the name from the providers of the client's view.
    package static let keptFromView = ExtendedError(code: 18, text: "no provider of the client's view may be asked")
    /// "Other Error" (0): RFC 8914 has no code for a used-up budget or quota.
    package static let usedUp = ExtendedError(
        code: otherCode, text: "the budget or quota of a provider is used up")

    /// "Other Error" (0): RFC 8914 has no code for an answer of the system resolver instead of a provider.
    package static func substitute(because reason: StaticString) -> ExtendedError {
        ExtendedError(code: otherCode, text: "system resolver stood in: \(reason)")
    }

    /// Whether the error concerns the name: DNSSEC validation failed (6 to 12), or a filter blocks the name (15 to 18).
    package var isAboutName: Bool { 6...12 ~= code || 15...18 ~= code }

    /// Whether an upstream's filter tells that it blocks the name (RFC 8914 sections 4.16 to 4.19). The errors by which
    /// another httpdnsd leaves out addresses or a family are none.
    package var tellsBlock: Bool {
        15...18 ~= code && self != .filteredAddresses && self != .filteredFamily && self != .familyOfRule
    }

    /// "Other Error" (0): holds the upstream's response code if the upstream sent no extended error.
    package static func upstreamReplied(_ code: ResponseCode) -> ExtendedError {
        ExtendedError(code: otherCode, text: "the upstream replied \(code)")
    }

    /// "Other Error" (0): every answer was treated as forged. RFC 8914's "Forged Answer" (4) would say that the client
    /// has one.
    package static func contradicted(_ reason: String) -> ExtendedError {
        ExtendedError(upstream: otherCode, text: reason.utf8)
    }
    /// "Other Error" (0): RFC 8914 has no code for a loop of aliases.
    package static let aliasLoop = ExtendedError(code: otherCode, text: "cname of rules form a loop")

    /// "Other Error" (0): RFC 8914 has no code for a name that is not registered for an account.
    package static let notServed = ExtendedError(code: otherCode, text: "no provider serves the name")

    /// "Other Error" (0): RFC 8914 has no code for an address family without an upstream.
    package static let familyUnserved = ExtendedError(
        code: otherCode, text: "no upstream serves this address family")

    /// The code of "Other Error" (RFC 8914 section 4.1).
    package static let otherCode: UInt16 = 0

    /// Limits an upstream's text so that the largest reply without records still fits 512 bytes.
    package static let maxUpstreamTextBytes = 128

    private init(code: UInt16, text: String) {
        self.code = code
        self.text = text
    }

    /// Sanitises an upstream's text (RFC 8914 section 2). Replaces invalid UTF-8, removes terminal and text-direction
    /// controls, and truncates between characters.
    package init(upstream code: UInt16, text: some Collection<UInt8>) {
        var cleaned = String.UnicodeScalarView()
        var bytes = 0
        for scalar in String(decoding: text.prefix(4 * ExtendedError.maxUpstreamTextBytes), as: UTF8.self)
            .unicodeScalars where scalar.isVisible
        {
            bytes += UTF8.width(scalar)
            guard bytes <= ExtendedError.maxUpstreamTextBytes else { break }
            cleaned.append(scalar)
        }
        self.init(code: code, text: String(cleaned))
    }

    /// Reads the extended error of an OPT record, `chosen` of several; nil without any. Malformed options end the
    /// reading.
    package init?(options: [UInt8]) {
        var errors: [ExtendedError] = []
        var rest = options[...]
        while rest.count >= 4, errors.count < ExtendedError.maxOfReply {
            let bytes = rest.prefix(4).map(UInt16.init)
            let (option, length) = (bytes[0] << 8 | bytes[1], Int(bytes[2] << 8 | bytes[3]))
            rest = rest.dropFirst(4)
            guard rest.count >= length else { break }
            let data = rest.prefix(length)
            if option == ExtendedError.optionCode, let high = data.first, let low = data.dropFirst().first {
                errors.append(ExtendedError(upstream: UInt16(high) << 8 | UInt16(low), text: data.dropFirst(2)))
            }
            rest = rest.dropFirst(length)
        }
        guard let error = ExtendedError.chosen(of: errors) else { return nil }
        self = error
    }

    /// Returns the error of one reply that is kept and given to clients: the first about the name, else the first. One
    /// is enough for them, and a filter's block matters more to them than the state of a cache.
    package static func chosen(of errors: [ExtendedError]) -> ExtendedError? {
        errors.first(where: \.isAboutName) ?? errors.first
    }

    /// Bound on the errors that are read from one reply; servers send one to three.
    package static let maxOfReply = 8

    /// Size of the option: option code, option length, info code and text.
    var optionBytes: Int { ExtendedError.optionBytesWithoutText + text.utf8.count }

    /// The option, with its code and length.
    var option: [UInt8] {
        var option: [UInt8] = []
        option.append(addingCapacity: optionBytes) { write(to: &$0) }
        return option
    }

    func write(to output: inout OutputSpan<UInt8>) {
        ExtendedError.write(code, textBytes: text.utf8.count, to: &output)
        output.append(text.utf8.span)
    }

    /// Writes an option up to its text.
    static func write(_ code: UInt16, textBytes: Int = 0, to output: inout OutputSpan<UInt8>) {
        output.appendBigEndian(optionCode)
        output.appendBigEndian(UInt16(2 + textBytes))
        output.appendBigEndian(code)
    }

    static let optionCode: UInt16 = 15
    static let optionBytesWithoutText = 6
    /// The places of the length and of the info code in the option; the length counts from the info code.
    package static let lengthOffset = 2
    package static let codeOffset = 4
}
