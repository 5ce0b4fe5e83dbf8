// Faults of this machine that look like faults of addresses, and true faults of addresses, however often they occur.

import DNSWire
import Testing

@testable import Resolver

@Suite("Own trouble")
struct LocalFaultTests {
    private func trouble(_ shown: (Int) -> [String]?) throws -> LocalFault {
        var trouble = LocalFault()
        for number in 1...Bounds.untrustedNamesAreOurs {
            let name = try #require(Name("n\(number).example"))
            var result = ProbeResult(.untrusted)
            result.certificate = shown(number).map {
                SeenCertificate(fingerprint: "00", issuer: "nobody", names: $0, notBefore: 0, notAfter: 1)
            }
            trouble.learned(ProbeTarget(name, .v4(0xCB00_7101), port: 443), result)
        }
        return trouble
    }

    @Test("untrusted certificates for the names themselves are a local fault: interception, or missing CAs")
    func readAlong() throws {
        #expect(try trouble { ["n\($0).example"] }.explains(.untrusted, in: .a))
        #expect(try trouble { _ in ["other.test", "*.EXAMPLE"] }.explains(.untrusted, in: .a))
        #expect(try trouble { _ in nil }.explains(.untrusted, in: .a))
    }

    @Test("one certificate for every name is a captive portal's, and no trouble of ours")
    func portal() throws {
        #expect(try !trouble { _ in ["portal.hotel.test"] }.explains(.untrusted, in: .a))
        #expect(try !trouble { _ in ["*.hotel.test", "example", "", "a..b"] }.explains(.untrusted, in: .a))
        #expect(try !trouble { _ in [] }.explains(.untrusted, in: .a))
    }
}
