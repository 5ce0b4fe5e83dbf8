// DNS stamps from an encoder of the tests, and hostile ones.

import DNSWire
import Settings
import TestSupport
import Testing

@testable import httpdnsctl

/// Writes a stamp as the specification has it, or with one thing wrong.
struct StampText {
    var kind: UInt8 = 2
    var properties: UInt64 = 7
    var address = ""
    var digests: [[UInt8]] = [[UInt8](repeating: 0xA5, count: 32)]
    var host: [UInt8] = Array("dns.example".utf8)
    var path = "/dns-query"
    var resolvers: [String] = []
    /// Bytes at the end.
    var rest: [UInt8] = []

    var bytes: [UInt8] {
        var bytes = [kind] + (0..<8).map { UInt8(truncatingIfNeeded: properties >> ($0 * 8)) }
        func sized(_ part: [UInt8], hasMore: Bool = false) -> [UInt8] {
            [UInt8(part.count) | (hasMore ? 0x80 : 0)] + part
        }
        bytes += sized(Array(address.utf8))
        if digests.isEmpty { bytes.append(0) }
        for (index, digest) in digests.enumerated() { bytes += sized(digest, hasMore: index + 1 < digests.count) }
        bytes += sized(host) + sized(Array(path.utf8))
        for (index, name) in resolvers.enumerated() {
            bytes += sized(Array(name.utf8), hasMore: index + 1 < resolvers.count)
        }
        return bytes + rest
    }

    var text: String { StampText.text(bytes) }

    /// Writes six bits at a time, without the encoder of the program.
    static func text(_ bytes: [UInt8]) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        let bits = bytes.flatMap { byte in (0..<8).map { byte >> (7 - $0) & 1 } }
        let letters = stride(from: 0, to: bits.count, by: 6).map { start in
            (start..<start + 6).reduce(0) { $0 << 1 | ($1 < bits.count ? Int(bits[$1]) : 0) }
        }
        return "sdns://" + String(letters.map { alphabet[$0] })
    }
}

@Suite("DNS stamps")
struct DNSStampTests {
    private func fault(_ text: String) -> DNSStamp.Fault? {
        do throws(DNSStamp.Fault) {
            _ = try DNSStamp(text)
            return nil
        } catch {
            return error
        }
    }

    @Test(
        "address, host, port and path are read",
        arguments: [
            ("", "dns.example", "https://dns.example/dns-query", nil),
            (":443", "dns.example", "https://dns.example/dns-query", nil),
            (":8443", "dns.example", "https://dns.example:8443/dns-query", nil),
            ("192.0.2.1", "dns.example", "https://dns.example/dns-query", "192.0.2.1"),
            ("192.0.2.1:8443", "dns.example", "https://dns.example:8443/dns-query", "192.0.2.1"),
            ("192.0.2.1:8443", "dns.example:8443", "https://dns.example:8443/dns-query", "192.0.2.1"),
            ("192.0.2.1", "dns.example:8443", "https://dns.example:8443/dns-query", "192.0.2.1"),
            ("[2001:db8::1]", "dns.example:443", "https://dns.example/dns-query", "2001:db8::1"),
            ("[2001:db8::1]:8443", "dns.example", "https://dns.example:8443/dns-query", "2001:db8::1"),
            ("192.0.2.1", "192.0.2.1", "https://192.0.2.1/dns-query", "192.0.2.1"),
            ("[2001:db8::1]", "[2001:db8::1]:443", "https://[2001:db8::1]/dns-query", "2001:db8::1"),
        ] as [(String, String, String, String?)])
    func read(_ address: String, _ host: String, _ url: String, _ dialled: String?) throws {
        let digest = [UInt8](repeating: 1, count: 32)
        for digests in [[], [[]], [digest], [digest, digest, digest]] {
            for resolvers in [[], ["192.0.2.53"], ["192.0.2.53", "[2001:db8::53]:53"]] {
                var stamp = StampText(address: address, host: Array(host.utf8))
                (stamp.digests, stamp.resolvers) = (digests, resolvers)
                for text in [stamp.text, stamp.text + "="] {
                    let read = try DNSStamp(text)
                    #expect(read.url.description == url && read.address?.description == dialled)
                }
            }
        }
    }

    @Test("a stamp that is cut off anywhere is refused")
    func truncated() {
        let whole = StampText(address: "192.0.2.1", resolvers: ["192.0.2.53"])
        let withoutResolvers = StampText(address: "192.0.2.1").bytes.count
        for count in 0..<whole.bytes.count where count != withoutResolvers {
            #expect(fault(StampText.text(Array(whole.bytes.prefix(count)))) == .malformed, "\(count)")
        }
        #expect(fault(StampText(rest: [0, 0]).text) == .malformed)
        #expect(fault(StampText(digests: [[1, 2, 3]]).text) == .malformed)
        #expect(fault(StampText(address: "192.0.2.1", rest: [0x84, 1, 2, 3, 4]).text) == .malformed)
    }

    @Test("other protocols are named", arguments: DNSStamp.StampProtocol.allCases.filter { $0 != .doh })
    func otherProtocols(_ other: DNSStamp.StampProtocol) {
        #expect(fault(StampText(kind: other.rawValue).text) == .otherProtocol(other))
        #expect(fault(StampText.text([other.rawValue])) == .otherProtocol(other))
    }

    @Test("hostile stamps are refused, each with its reason")
    func hostile() {
        #expect(fault("sdns://") == .malformed)
        #expect(fault("https://dns.example/") == .noStamp)
        #expect(fault("sdns://" + String(repeating: "A", count: DNSStamp.maxBytes)) == .noStamp)
        for wrong in ["sdns://Ag UA", "sdns://AgU+", "sdns://AgU/", "sdns://A", "sdns://AgÄA", "sdns://Ag=A"] {
            #expect(fault(wrong) == .notBase64, "\(wrong)")
        }
        #expect(fault(StampText(kind: 0x7F).text) == .unknownProtocol(0x7F))
        let places = [
            "dns.example", "192.0.2.1:0", "192.0.2.1:65536", "0.0.0.0", "[::]:443", ":0", ":", "fe80::1%eth0",
            "224.0.0.1", "255.255.255.255:443", "[ff02::1]", "[::ffff:192.0.2.1]",
        ]
        for wrong in places {
            #expect(fault(StampText(address: wrong).text) == .badAddress(wrong), "\(wrong)")
        }
        for host in ["dns.exämple", "dns.ехample"] {
            #expect(fault(StampText(host: Array(host.utf8)).text) == .hostNotASCII)
        }
        #expect(fault(StampText(host: [0xFF, 0xFE]).text) == .hostNotASCII)
        for host in ["", "a b", "user@dns.example", "dns.example/x", "dns.example:0", "-\n"] {
            #expect(fault(StampText(host: Array(host.utf8)).text) == .badURL("https://\(host)/dns-query"), "\(host)")
        }
        for path in ["", "dns-query", "/q?x=1", "/q#x", "/ä", "/a\"b"] {
            #expect(fault(StampText(path: path).text) == .badURL("https://dns.example\(path)"), "\(path)")
        }
        var ports = StampText(address: "192.0.2.1:8443", host: Array("dns.example:9443".utf8))
        #expect(fault(ports.text) == .twoPorts)
        ports.host = [UInt8](repeating: UInt8(ascii: "a"), count: 255)
        if case .badURL = fault(ports.text) {} else { Issue.record("a label of 255 bytes") }
    }

    @Test("scheme and path are read like those of a URL, and a server may be in the network")
    func spelling() throws {
        let plain = try DNSStamp(StampText().text)
        #expect(try DNSStamp(StampText(path: "/dns-query{?dns}").text) == plain)
        #expect(try DNSStamp("SDNS://" + StampText().text.dropFirst(DNSStamp.scheme.count)) == plain)
        for address in ["127.0.0.1", "192.168.7.1", "[::1]", "[fd00::1]"] {
            #expect(fault(StampText(address: address).text) == nil, "\(address)")
        }
        #expect(fault(StampText(host: Array("0.0.0.0".utf8)).text) == .badAddress("0.0.0.0"))
    }

    @Test("random bytes make a stamp that can be written again, or a fault with a text")
    func random() throws {
        let seed: UInt64 = 0x57_A3_90
        var generator = SeededRandom(seed: seed)
        for round in 0..<2000 {
            var bytes = StampText(address: "192.0.2.1:8443", resolvers: ["192.0.2.53"]).bytes
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                bytes[Int.random(in: 0..<bytes.count, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
            }
            let text = StampText.text(bytes)
            do throws(DNSStamp.Fault) {
                let stamp = try DNSStamp(text)
                let address = stamp.address.map { $0.isIPv6 ? "[\($0)]" : "\($0)" } ?? ""
                let host = "\(stamp.url.host):\(stamp.url.port)"
                let again = StampText(address: address, host: Array(host.utf8), path: stamp.url.path).text
                #expect((try? DNSStamp(again)) == stamp, "seed \(seed) round \(round): \(text)")
            } catch {
                do throws(SetupRefusal) {
                    _ = try ChosenProvider(text)
                    Issue.record("seed \(seed) round \(round): \(text)")
                } catch {
                    #expect(!error.reason.english.isEmpty, "seed \(seed) round \(round): \(text)")
                }
            }
        }
    }
}
