// Addresses and prefixes as text: accepted text, refused text, and output by RFC 5952.

import DNSWire
import Glibc
import TestSupport
import Testing

struct AddressTests {
    @Test("addresses are read and printed as RFC 5952 has them")
    func table() {
        let cases = [
            ("0.0.0.0", "0.0.0.0"), ("255.255.255.255", "255.255.255.255"), ("192.0.2.1", "192.0.2.1"),
            ("::", "::"), ("::1", "::1"), ("1::", "1::"), ("2001:DB8::1", "2001:db8::1"),
            ("2001:0db8:0000:0000:0000:0000:0000:0001", "2001:db8::1"),
            ("2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"), ("2001:db8::1:1:1:1:1", "2001:db8:0:1:1:1:1:1"),
            ("2001:0:0:1:0:0:0:1", "2001:0:0:1::1"), ("2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"),
            ("0:0:0:0:0:0:0:0", "::"), ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"), ("::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"),
            ("1:0:0:4:5:6:7:8", "1::4:5:6:7:8"), ("::ffff:192.0.2.1", "::ffff:192.0.2.1"),
            ("::FFFF:C000:201", "::ffff:192.0.2.1"), ("64:ff9b::192.0.2.33", "64:ff9b::c000:221"),
            ("1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304"), ("fe80::a:b", "fe80::a:b"),
        ]
        for (text, printed) in cases { #expect(Address(text)?.description == printed, "\(text)") }
    }

    @Test(
        "what is no address is refused",
        arguments: [
            "", " ", "1", "1.2.3", "1.2.3.4.5", "1.2.3.", ".1.2.3", "1..2.3", "256.1.1.1", "1.2.3.04", "00.0.0.0",
            "1.2.3.+4", "1.2.3.-4", "1.2.3.4 ", " 1.2.3.4", "0x1.2.3.4", "1.2.3.a", "1.2.3.1000", "1.2.3.٤",
            ":", ":::", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7:8::", "::1:2:3:4:5:6:7:8", "1::2::3",
            ":1::2", "1::2:", "1:2:3:4:5:6:7:", "12345::", "::g", "::+1", "::1.2.3", "::1.2.3.4:5", "1.2.3.4::",
            "::1.2.3.256", "1:2:3:4:5:6:7:1.2.3.4", "fe80::1%eth0", "[::1]", "::１",
        ])
    func refused(text: String) {
        #expect(Address(text) == nil)
    }

    @Test("any address comes back from its text and from its bytes")
    func roundTrip() {
        var random = SeededRandom(seed: 8)
        for _ in 0..<2_000 {
            // Masks make runs of zeros.
            let high = random.next() & random.next() & (Bool.random(using: &random) ? 0xFFFF_0000_0000_FFFF : .max)
            let low = random.next() & (Bool.random(using: &random) ? 0x0000_FFFF_0000_0000 : .max)
            for address in [Address.v6(high: high, low: low), .v4(UInt32(truncatingIfNeeded: low))] {
                #expect(Address(address.description) == address)
                #expect(Address(bytes: address.bytes) == address)
            }
        }
    }

    @Test("of changed texts, the same are addresses as for the C library, and the same ones")
    func changedTexts() {
        var random = SeededRandom(seed: 9)
        let alphabet = Array("0123456789abcdefABCDEFg.::".utf8)
        for text in ["192.0.2.1", "2001:db8::1:20", "1:2:3:4:5:6:7:8", "::ffff:192.0.2.1", "1::"] {
            for round in 0..<4_000 {
                var changed = Array(text.utf8)
                for _ in 0..<Int.random(in: 1...2, using: &random) {
                    let place = Int.random(in: changed.indices, using: &random)
                    let letter = alphabet.randomElement(using: &random) ?? 0
                    changed.insert(letter, at: place)
                    if Bool.random(using: &random) { changed.remove(at: place + 1) }
                }
                let written = String(decoding: changed, as: UTF8.self)
                #expect(Address(written)?.bytes == libraryBytes(written), "seed 9, round \(round): \(written)")
            }
        }
    }

    /// The bytes of the address by inet_pton(3); nil if the text is none.
    private func libraryBytes(_ text: String) -> [UInt8]? {
        for (family, count) in [(AF_INET, 4), (AF_INET6, 16)] {
            var bytes = [UInt8](repeating: 0, count: count)
            if unsafe inet_pton(family, text, &bytes) == 1 { return bytes }
        }
        return nil
    }

    @Test("four or sixteen bytes are an address, any other number is none")
    func byteCounts() {
        for count in 0...20 {
            #expect((Address(bytes: [UInt8](repeating: 1, count: count)) != nil) == (count == 4 || count == 16))
        }
    }

    @Test("loopback is 127.0.0.0/8, ::1, and either inside a mapped address")
    func loopback() throws {
        for (text, isLoopback) in [
            ("127.0.0.1", true), ("127.255.0.3", true), ("126.255.255.255", false), ("128.0.0.0", false), ("::1", true),
            ("::", false), ("::2", false), ("::ffff:127.0.0.1", true), ("::ffff:10.0.0.1", false),
            ("::127.0.0.1", false), ("1::1", false),
        ] {
            #expect(try #require(Address(text)).isLoopback == isLoopback, "\(text)")
        }
    }

    @Test("documentation is five blocks to their last address, and IPv4 ones inside a mapped or translated address")
    func documentation() throws {
        for (text, isDocumentation) in [
            ("192.0.1.255", false), ("192.0.2.0", true), ("192.0.2.255", true), ("192.0.3.0", false),
            ("198.51.99.255", false), ("198.51.100.0", true), ("198.51.100.255", true), ("198.51.101.0", false),
            ("203.0.112.255", false), ("203.0.113.0", true), ("203.0.113.255", true), ("203.0.114.0", false),
            ("2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", false), ("2001:db8::", true),
            ("2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", true), ("2001:db9::", false),
            ("3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", false), ("3fff::", true),
            ("3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", true), ("3fff:1000::", false),
            ("::ffff:192.0.2.1", true), ("::ffff:192.0.3.1", false), ("64:ff9b::203.0.113.7", true),
            ("64:ff9b::203.0.114.7", false), ("64:ff9b:1::192.0.2.1", false), ("::192.0.2.1", false),
            ("10.0.0.1", false), ("::1", false), ("1.1.1.1", false), ("2606:4700::1111", false),
        ] {
            #expect(try #require(Address(text)).isDocumentation == isDocumentation, "\(text)")
        }
    }
}

struct PrefixTests {
    @Test("blocks are read and printed; an address alone is a block of one")
    func parse() {
        for (text, printed) in [
            ("0.0.0.0/0", "0.0.0.0/0"), ("10.0.0.0/8", "10.0.0.0/8"), ("192.0.2.1", "192.0.2.1/32"),
            ("192.0.2.1/32", "192.0.2.1/32"), ("::/0", "::/0"), ("2001:db8::/32", "2001:db8::/32"),
            ("2001:db8:0:8000::/49", "2001:db8:0:8000::/49"), ("::1", "::1/128"),
            ("2001:db8:0:0:8000::/65", "2001:db8:0:0:8000::/65"),
        ] {
            #expect(Prefix(text)?.description == printed, "\(text)")
        }
    }

    @Test(
        "what is no block is refused, bits behind its length included",
        arguments: [
            "", "/", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/+8", "10.0.0.0/8/8", "10.0.0.0/8x",
            "10.0.0.1/8", "192.0.2.0/22", "::/129", "2001:db8::1/64", "2001:db8:0:8000::/48", "1.2.3/8", "10.0.0.0/08",
            "10.0.0.0/99999999999999999999", "10.0.0.0 /8",
        ])
    func refused(text: String) {
        #expect(Prefix(text) == nil)
    }

    @Test("a block of every length has its first and last address and not their neighbours")
    func everyLength() throws {
        for length in 1...32 {
            let size = UInt64(1) << UInt64(32 - length)
            let first = UInt32(truncatingIfNeeded: (0xA5A5_A5A5 / size) * size)
            let prefix = try #require(Prefix(.v4(first), length: length))
            #expect(prefix.contains(.v4(first)) && prefix.contains(.v4(first &+ UInt32(size - 1))), "\(prefix)")
            #expect(
                !prefix.contains(.v4(first &- 1)) && !prefix.contains(.v4(first &+ UInt32(truncatingIfNeeded: size))),
                "\(prefix)")
        }
        for length in 1...64 {
            let mask = UInt64.max << UInt64(64 - length)
            let bits = 0xA5A5_A5A5_A5A5_A5A5 & mask
            let upper = try #require(Prefix(.v6(high: bits, low: 0), length: length))
            #expect(
                upper.contains(.v6(high: bits | ~mask, low: .max)) && !upper.contains(.v6(high: bits &- 1, low: .max)))
            let lower = try #require(Prefix(.v6(high: 9, low: bits), length: 64 + length))
            #expect(lower.contains(.v6(high: 9, low: bits | ~mask)) && !lower.contains(.v6(high: 8, low: bits)))
            #expect(length == 64 || !lower.contains(.v6(high: 9, low: (bits | ~mask) &+ 1)))
        }
    }

    @Test("the block around an address has its first bits, and a length that fits")
    func around() throws {
        let (v4, v6) = (try #require(Address("192.0.2.77")), try #require(Address("2001:db8::77")))
        for (address, length, block) in [
            (v4, 24, "192.0.2.0/24"), (v4, 0, "0.0.0.0/0"), (v4, 32, "192.0.2.77/32"), (v4, 33, nil), (v4, -1, nil),
            (v6, 64, "2001:db8::/64"), (v6, 128, "2001:db8::77/128"), (v6, 129, nil),
        ] {
            #expect(Prefix(around: address, length: length)?.description == block)
        }
    }

    @Test("the block of length 0 has every address of its family and none of the other")
    func everything() throws {
        let v4 = try #require(Prefix("0.0.0.0/0"))
        let v6 = try #require(Prefix("::/0"))
        #expect(v4.contains(.v4(.max)) && !v4.contains(.v6(high: 0, low: 0)))
        #expect(v6.contains(.v6(high: .max, low: .max)) && !v6.contains(.v4(0)))
        #expect(Prefix(.v4(0), length: -1) == nil)
    }
}
