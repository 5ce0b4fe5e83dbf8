// Checks how each address of each provider was reached. Reports a failure that several addresses share only once.

import Control
import DNSWire

struct ProviderCheck: Sendable {
    enum Outcome: Equatable, Sendable {
        /// Connected; with https, the certificate was valid.
        case fine
        /// No route to the address; nothing was sent.
        case noRoute
        case refused
        /// No reply within the timeout, during the handshake or before the connection.
        case silent(isConnected: Bool)
        /// The error, or the error text of the system or of OpenSSL.
        case failed(LocalizedText)
        /// OpenSSL's error text, and the issuer of the certificate.
        case untrusted(String, issuer: String)
        /// The name for which the certificate is valid.
        case wrongName(String)
        case notValidNow(ClockCheck.Dates)
        /// Skipped: more addresses than the limit on concurrent connections.
        case notDialled
    }

    struct Place: Equatable, Sendable {
        let provider: String
        /// "192.0.2.1:443"
        let place: String
        let isIPv6: Bool
        /// "https", "http", or "proxy"
        let kind: String
        let outcome: Outcome

        var isLost: Bool { outcome != .fine && outcome != .notDialled }
    }

    let places: [Place]
    /// Suppresses findings about certificate dates; ClockCheck reports the wrong clock.
    let isClockWrong: Bool
    /// False suppresses findings about untrusted issuers; AuthorityCheck reports the missing store.
    let hasAuthorities: Bool

    var findings: [Finding] { families + providers + remarks }

    /// Reports an address family without a route that some providers need.
    private var families: [Finding] {
        [false, true].compactMap { isIPv6 in
            let theirs = places.filter { $0.isIPv6 == isIPv6 && $0.outcome == .noRoute }
            guard !theirs.isEmpty else { return nil }
            let hasOther = places.contains { $0.isIPv6 != isIPv6 && $0.outcome == .fine }
            let command = isIPv6 ? "ip -6 route" : "ip route"
            let family = isIPv6 ? "IPv6" : "IPv4"
            return Finding(
                hasOther ? .note : .fault, .providers, "there is no \(family) route to \(ProviderCheck.names(theirs))",
                remedy: hasOther
                    ? "none needed: the other address family is used"
                    : "\(command); add a default route through a gateway that answers")
        }
    }

    private var providers: [Finding] {
        let lost = places.filter { $0.isLost && $0.outcome != .noRoute && !isExplained($0.outcome) }
        return places.map(\.provider).withoutRepetition.flatMap { name in
            let mine = lost.filter { $0.provider == name }
            let isGone = !places.contains { $0.provider == name && $0.outcome == .fine }
            return mine.indices.compactMap { index in
                // Reports a shared outcome once, with the first address.
                let isReported = mine[..<index].contains { $0.outcome == mine[index].outcome }
                let alike = mine.filter { $0.outcome == mine[index].outcome }
                return isReported ? nil : finding(alike, isGone: isGone)
            }
        }
    }

    private var remarks: [Finding] {
        var findings: [Finding] = []
        let proxied = places.filter { $0.kind == "proxy" }
        if !proxied.isEmpty {
            findings.append(
                Finding(
                    .note, .providers, "\(ProviderCheck.names(proxied)): only the connection to the proxy was tested",
                    remedy: "httpdnsctl providers test NAME tests through the proxy"))
        }
        let skipped = places.filter { $0.outcome == .notDialled }.count
        if skipped > 0 {
            findings.append(
                Finding(
                    .note, .providers, "addresses not tested, because there are too many: \(skipped)",
                    remedy: "httpdnsctl providers test NAME tests those of one provider"))
        }
        return findings
    }

    private func isExplained(_ outcome: Outcome) -> Bool {
        switch outcome {
        case .notValidNow: isClockWrong
        case .untrusted: !hasAuthorities
        default: false
        }
    }

    private func finding(_ alike: [Place], isGone: Bool) -> Finding? {
        guard let first = alike.first else { return nil }
        let (text, remedy) = ProviderCheck.words(first)
        let addresses = alike.map(\.place).joined(separator: ", ")
        return Finding(
            isGone ? .fault : .warning, .providers, "\(first.provider) at \(addresses) (\(first.kind)): \(text)",
            remedy: remedy)
    }

    private static func words(_ place: Place) -> (text: LocalizedText, remedy: LocalizedText) {
        let other: LocalizedText = "another address or provider in the settings"
        switch place.outcome {
        case .fine, .noRoute, .notDialled: return ("", "")
        case .refused: return ("connection refused", "a firewall rejects it, or the address is outdated: use \(other)")
        case .silent(isConnected: false):
            return ("connection timed out", "a firewall drops it, or the address is outdated: use \(other)")
        case .silent(isConnected: true):
            return (
                "connected, but no TLS reply", "a middlebox may drop TLS: try another network, or use \(other)"
            )
        case .failed(let why): return (why, "curl -v --connect-to ::\(place.place) with the provider's URL shows more")
        case .untrusted(let why, let issuer):
            return (
                "certificate by \(issuer): \(why)",
                "TLS is intercepted (captive portal, proxy), or ca-file must contain that authority"
            )
        case .wrongName(let owners):
            return (
                "the certificate is for \(owners)",
                "TLS is intercepted, or the address is reassigned: try another network, or use \(other)"
            )
        case .notValidNow(let dates):
            return (
                """
                certificate valid from \(LineFormat.day(secondsSince1970: dates.notBefore)) \
                to \(LineFormat.day(secondsSince1970: dates.notAfter)), not now
                """,
                "check this machine's clock (date -u); if it is right, the provider must renew"
            )
        }
    }

    private static func names(_ places: [Place]) -> String {
        places.map(\.provider).withoutRepetition.joined(separator: ", ")
    }
}
