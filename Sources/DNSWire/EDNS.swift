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
    /// Short, ASCII, without anything secret.
    package let text: StaticString

    /// The text as a string.
    package var reason: String { "\(text)" }

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

    private init(code: UInt16, text: StaticString) {
        self.code = code
        self.text = text
    }

    package static func == (left: ExtendedError, right: ExtendedError) -> Bool { left.code == right.code }
    package func hash(into hasher: inout Hasher) { hasher.combine(code) }

    /// Option code, option length, info code, text.
    var optionBytes: Int { 6 + text.utf8CodeUnitCount }

    static let optionCode: UInt16 = 15
}
