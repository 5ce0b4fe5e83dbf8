// The verdict for each outcome of a probe.

import DNSWire
import Glibc
import LinuxIO
import Resolver
import Testing

@testable import Crypto
@testable import Daemon
@testable import TestTLS

struct ProbeJudgementTests {
    private static let now = TestCertificate.now
    private let certificate: PeerCertificate

    init() throws {
        let made = TestCertificate(CertificateTerms(names: "DNS:www.example"))
        let shown = withExtendedLifetime(made) { unsafe PeerCertificate($0.pointer) }
        certificate = try #require(shown)
    }

    private func result(
        trust: TLSPeer.Trust = .trusted, matches: Bool = true, valid: Bool = true, isClockDoubtful: Bool = false
    ) -> ProbeResult {
        let peer = TLSPeer(
            certificate: certificate, trust: trust, matchesName: matches, isValidNow: valid, protocolName: nil,
            version: "TLSv1.3")
        return ProbeResult(peer, isClockDoubtful: isClockDoubtful, nowSeconds: ProbeJudgementTests.now)
    }

    private func seen(_ names: [String], _ notBefore: Int64 = now - 1, _ notAfter: Int64 = now + 1) -> SeenCertificate {
        SeenCertificate(fingerprint: "", issuer: "", names: names, notBefore: notBefore, notAfter: notAfter)
    }

    @Test(
        "errors on the way to a connection",
        arguments: [
            (ECONNREFUSED, Verdict.refused), (ENETUNREACH, .unreachable), (EHOSTUNREACH, .unreachable),
            (EACCES, .unreachable), (ENOPROTOOPT, .unreachable), (ETIMEDOUT, .timeout), (EADDRNOTAVAIL, .unprobed),
            (EAFNOSUPPORT, .unprobed), (ENETDOWN, .unprobed), (EPERM, .unprobed), (EMFILE, .unprobed),
            (ENOBUFS, .unprobed), (EINVAL, .unprobed),
        ])
    func connecting(code: Int32, verdict: Verdict) {
        for isAtOnce in [true, false] {
            let result = ProbeResult(notConnected: SystemError(call: "connect", code: code), isAtOnce: isAtOnce)
            #expect(result.verdict == verdict)
        }
    }

    @Test("no other call's error is held against an address", arguments: ["socket", "setsockopt", "epoll_ctl"])
    func otherCalls(call: String) {
        for code in [EACCES, EMFILE, ENFILE, ENOMEM, ENOSPC, EAFNOSUPPORT, ENOPROTOOPT] {
            let result = ProbeResult(notConnected: SystemError(call: call, code: code), isAtOnce: true)
            #expect(result.verdict == .unprobed && result.detail.hasPrefix(call))
        }
    }

    @Test("a way that is missing here is told from one that is missing further on")
    func unreachable() {
        let error = SystemError(call: "connect", code: ENETUNREACH)
        #expect(ProbeResult(notConnected: error, isAtOnce: true).detail.hasPrefix("no route: "))
        #expect(ProbeResult(notConnected: error, isAtOnce: false).detail.hasPrefix("connect: "))
    }

    @Test("of several faults the one that time cannot mend decides")
    func order() {
        let stranger = TLSPeer.Trust.untrusted("self-signed certificate")
        #expect(result().verdict == .verified)
        #expect(result(trust: stranger, matches: false, valid: false).verdict == .untrusted)
        #expect(result(matches: false, valid: false).verdict == .nameMismatch)
        #expect(result(valid: false).verdict == .expiredCertificate)
        #expect(result(trust: stranger, isClockDoubtful: true).verdict == .untrusted)
        #expect(result(matches: false, isClockDoubtful: true).verdict == .nameMismatch)
        #expect(result(valid: false, isClockDoubtful: true).verdict == .timeDoubtful)
        #expect(result(isClockDoubtful: true).verdict == .timeDoubtful)
    }

    @Test("the certificate goes with every verdict about it, and what the verdict does not say")
    func details() {
        let stranger = TLSPeer.Trust.untrusted("self-signed certificate")
        let results = [result(), result(trust: stranger), result(matches: false), result(valid: false)]
        #expect(results.allSatisfy { $0.certificate == SeenCertificate(certificate) })
        #expect(
            results.map(\.detail) == [
                "", "self-signed certificate", "the certificate is for www.example",
                "an issuer's certificate is not valid now",
            ])
    }

    @Test("of many names the first are said")
    func owners() {
        #expect(seen((1...3).map { "n\($0)" }).owners == "the certificate is for n1, n2, n3")
        #expect(seen((1...90).map { "n\($0)" }).owners == "the certificate is for n1, n2, n3 and 87 more")
        #expect(seen([""]).owners == "the certificate contains no name")
    }

    @Test(
        "a certificate that is not valid now says since when, or from when",
        arguments: [
            (0, 784_111_777, "expired Sun, 06 Nov 1994 08:49:37 GMT"),
            (now + 100, now + 1000, "not valid before Thu, 01 Jan 2026 00:01:40 GMT"),
            (now, now, "an issuer's certificate is not valid now"),
            (Int64.min, -1, "expired Thu, 01 Jan 1970 00:00:00 GMT"),
            (Int64.max, Int64.max, "not valid before Fri, 31 Dec 9999 23:59:59 GMT"),
        ])
    func validity(notBefore: Int64, notAfter: Int64, text: String) {
        #expect(seen([], notBefore, notAfter).validity(nowSeconds: ProbeJudgementTests.now) == text)
    }

    @Test("an alert comes with its words")
    func failures() {
        #expect(ProbeResult(failed: .alert("too new")) == ProbeResult(.tlsAlert, detail: "too new"))
        #expect(ProbeResult(failed: .notTLS) == ProbeResult(.notTLS))
    }

    @Test(
        "a name is said as servers know it, or not at all",
        arguments: [
            ("WWW.Example.", "www.example"), ("xn--bcher-kva.example", "xn--bcher-kva.example"),
            ("_sip.example", "_sip.example"), ("host", "host"), ("1.example", "1.example"),
            (".", nil), ("*.example", nil), ("a b.example", nil), ("a\\.b.example", nil), ("a\\000.example", nil),
            ("192.0.2.1", nil),
        ])
    func serverName(text: String, expected: String?) throws {
        #expect(try #require(Name(text)).serverName == expected)
    }
}
