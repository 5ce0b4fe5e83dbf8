// EDNS(0) as far as a stub talks it: the client's OPT record read, ours written, extended errors attached.

package struct EDNS: Equatable, Sendable {
    /// What we offer and what a UDP reply of ours never exceeds: fits every path unfragmented (DNS flag day 2020).
    package static let ourPayloadBytes = 1232
    /// Without EDNS, and for offers below it (RFC 1035 section 2.3.4, RFC 6891 section 6.2.3).
    package static let minPayloadBytes = 512
    /// Root name, type, payload size, extended code and version and flags, length.
    package static let emptyRecordBytes = 11

    package let payloadBytes: Int
    package let version: UInt8
    /// There was an edns-tcp-keepalive option without data, as clients send it (RFC 7828 section 3.2.1).
    package var asksKeepalive = false
    /// Of the first COOKIE option; further ones are ignored (RFC 7873 section 5.2). Not looked at here.
    package var cookie: Cookie.Place?
}

extension EDNS {
    /// edns-tcp-keepalive (RFC 7828): code, length and a time in units of 100 ms.
    enum Keepalive {
        static let optionCode: UInt16 = 11
        static let optionBytes = 6
        static let timeout = UInt16(StreamFraming.idleTimeoutSeconds * 10)
    }
}

/// RFC 8914: why an answer is not what it could have been.
package struct ExtendedError: Hashable, Sendable {
    package let code: UInt16
    /// Short, without control characters and without secrets; at most `maxUpstreamTextBytes` long.
    package let text: String

    package static let staleAnswer = ExtendedError(code: 3, text: "expired, and no upstream has answered")
    package static let staleNoSuchName = ExtendedError(code: 19, text: "expired, and no upstream has answered")
    /// Of RFC 8914's codes "Filtered" (17): not given because whoever asks wants it so. "Blocked" (15) and "Censored"
    /// (16) are said of names that others forbid.
    package static let filteredFamily = ExtendedError(code: 17, text: "no IPv6 route (filter-aaaa)")
    /// "Blocked" (15) is what the operator's own policy forbids: a public name must not lead into the local network.
    package static let filteredAddresses = ExtendedError(code: 15, text: "private addresses were taken out")
    /// "Forged Answer" (4) is one that policy has put in the place of the name's own.
    package static let fallbackAddresses = ExtendedError(code: 4, text: "fallback-addresses of a rule")
    /// RFC 6147: made of the name's IPv4 addresses.
    package static let synthesised = ExtendedError(code: 29, text: "no IPv6 address of its own (DNS64)")
    /// "Cached Error" (13).
    package static let rememberedFailure = ExtendedError(code: 13, text: "it failed a moment ago")
    package static let onlyHere = ExtendedError(code: 18, text: "explanations are for this machine")
    package static let prohibited = ExtendedError(code: 18, text: "client is not in server.allow")
    package static let noReachableAuthority = ExtendedError(code: 22, text: "no upstream answered")
    package static let portalSuspected = ExtendedError(
        code: 22, text: "a portal is suspected: sign in to the network")
    package static let networkError = ExtendedError(code: 23, text: "every upstream failed")
    package static let notReady = ExtendedError(code: 14, text: "too many queries are waiting")

    /// "Other" (0): RFC 8914 has no code for an answer from another source than the configured one.
    package static func stoodIn(for reason: StaticString) -> ExtendedError {
        ExtendedError(code: otherCode, text: "\(stoodIn.text): \(reason)")
    }

    /// The same for replies that the cache gives, which does not keep the reason.
    static let stoodIn = ExtendedError(code: otherCode, text: "system resolver stood in")

    var tellsStandIn: Bool { code == ExtendedError.otherCode && text.hasPrefix(ExtendedError.stoodIn.text) }

    /// "Other" (0): the upstream's response code, where the upstream gave no extended error.
    package static func upstreamReplied(_ code: ResponseCode) -> ExtendedError {
        ExtendedError(code: otherCode, text: "the upstream replied \(code)")
    }

    /// "Other Error" (RFC 8914 section 4.1).
    package static let otherCode: UInt16 = 0

    /// Bounds the text of an upstream: the largest reply without records still fits 512 bytes with it.
    package static let maxUpstreamTextBytes = 128

    private init(code: UInt16, text: String) {
        self.code = code
        self.text = text
    }

    /// Cleans what an upstream sent (RFC 8914 section 2): invalid UTF-8 is replaced, characters that control a terminal
    /// or the direction of text are removed, and the end is cut at a character.
    package init(upstream code: UInt16, text: some Collection<UInt8>) {
        var cleaned = String.UnicodeScalarView()
        var bytes = 0
        for scalar in String(decoding: text.prefix(4 * ExtendedError.maxUpstreamTextBytes), as: UTF8.self)
            .unicodeScalars where scalar.isPlainText
        {
            bytes += UTF8.width(scalar)
            guard bytes <= ExtendedError.maxUpstreamTextBytes else { break }
            cleaned.append(scalar)
        }
        self.init(code: code, text: String(cleaned))
    }

    /// Reads the first extended error in the options of an OPT record; nil without one, or where the options are
    /// broken.
    init?(options: [UInt8]) {
        var rest = options[...]
        while rest.count >= 4 {
            let bytes = rest.prefix(4).map(UInt16.init)
            let (option, length) = (bytes[0] << 8 | bytes[1], Int(bytes[2] << 8 | bytes[3]))
            rest = rest.dropFirst(4)
            guard rest.count >= length else { return nil }
            let data = rest.prefix(length)
            if option == ExtendedError.optionCode, let high = data.first, let low = data.dropFirst().first {
                self.init(upstream: UInt16(high) << 8 | UInt16(low), text: data.dropFirst(2))
                return
            }
            rest = rest.dropFirst(length)
        }
        return nil
    }

    /// Option code, option length, info code, text.
    var optionBytes: Int { 6 + text.utf8.count }

    static let optionCode: UInt16 = 15
}

extension Unicode.Scalar {
    fileprivate var isPlainText: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: false
        default: true
        }
    }
}
