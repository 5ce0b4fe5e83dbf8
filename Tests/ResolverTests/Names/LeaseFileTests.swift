// Lease files of dnsmasq, ISC dhcpd and odhcpd, intact and damaged.

import DNSWire
import Testing

@testable import Resolver

@Suite("Lease files")
struct LeaseFileTests {
    private func file(_ text: String) throws -> LeaseFile {
        try #require(LeaseFile(parsing: Array(text.utf8)))
    }

    /// Each lease as "LABEL ADDRESS END".
    private func leases(_ text: String) throws -> [String] {
        try file(text).leases.map { lease in
            "\(lease.label) \(lease.address) \(lease.endsAtSecondsSince1970.map(String.init) ?? "never")"
        }
    }

    private func ignored(_ text: String) throws -> [String] {
        try file(text).ignored.first.map { "\($0.number) \($0.reason)" }
    }

    // MARK: dnsmasq

    private let dnsmasq = """
        1795690000 52:54:00:aa:bb:01 192.168.7.20 tv 01:52:54:00:aa:bb:01
        0 52:54:00:aa:bb:02 192.168.7.21 NAS ff:56:50:4d:98:00:02:00:00:ab:11
        1795690002 06-52:54:00:aa:bb:03 192.168.7.22 * *
        duid 00:01:00:01:2c:9f:53:4b:52:54:00:12:34:56
        1795690003 5526531 fd00:7::20 tv 00:01:00:01:2c:9f:53:4b:52:54:00:aa:bb:01
        1795690004 T5526532 fd00:7::21 phone 00:01:00:01:2c:9f:53:4b:52:54:00:aa:bb:09

        """

    @Test("dnsmasq: both families, leases without end and clients without a name")
    func dnsmasqFile() throws {
        #expect(
            try leases(dnsmasq) == [
                "tv 192.168.7.20 1795690000", "NAS 192.168.7.21 never", "tv fd00:7::20 1795690003",
                "phone fd00:7::21 1795690004",
            ])
        #expect(try file(dnsmasq).leases.map(\.line) == [1, 2, 5, 6])
        #expect(try file(dnsmasq).ignored.count == 0)
    }

    @Test("dnsmasq without a clock: a small number is the lease's length, and the lease is in force while it is listed")
    func dnsmasqLengths() throws {
        let text = """
            3600 52:54:00:aa:bb:01 192.168.7.20 tv *
            31536000 52:54:00:aa:bb:02 192.168.7.21 nas *
            725846399 52:54:00:aa:bb:03 192.168.7.22 old *
            725846400 52:54:00:aa:bb:04 192.168.7.23 phone *
            4294967295 52:54:00:aa:bb:05 192.168.7.24 pc *

            """
        #expect(
            try leases(text) == [
                "tv 192.168.7.20 never", "nas 192.168.7.21 never", "old 192.168.7.22 never",
                "phone 192.168.7.23 725846400", "pc 192.168.7.24 4294967295",
            ])
    }

    @Test("dnsmasq: a bad line is passed over, and an incomplete last one waits for its end")
    func dnsmasqDamage() throws {
        let text = """
            1795690000 52:54:00:aa:bb:01 192.168.7.20 tv *
            x 52:54:00:aa:bb:01 192.168.7.30 a *
            1795690000 52:54:00:aa:bb:01 192.168.7.300 b *
            1795690000 52:54:00:aa:bb:01
            -1 52:54:00:aa:bb:01 192.168.7.31 c *
            1795690000 52:54:00:aa:bb:01 192.168.7.21 nas *
            1795690000 52:54:00:aa:bb:01 192.168.7.2
            """
        #expect(try leases(text) == ["tv 192.168.7.20 1795690000", "nas 192.168.7.21 1795690000"])
        #expect(try ignored(text) == ["2 expiry", "3 address", "4 shape", "5 expiry"])
    }

    // MARK: ISC dhcpd

    private let dhcpd = #"""
        # The format of this file is documented in the dhcpd.leases(5) manual page.
        # This lease file was written by isc-dhcp-4.4.3-P1

        # authoring-byte-order entry is generated, DO NOT DELETE
        authoring-byte-order little-endian;

        server-duid "\000\001\000\001.\232o>\010\000'\"2}\202";

        failover peer "x" state {
          my state normal at 2 2026/11/24 10:00:00;
        }
        lease 192.168.7.20 {
          starts 2 2026/11/24 10:00:00;
          ends 2 2026/11/24 22:00:00;
          cltt 2 2026/11/24 10:00:00;
          binding state active;
          next binding state free;
          rewind binding state free;
          hardware ethernet 52:54:00:aa:bb:01;
          uid "\001RT\000\252}\";{\001";
          set vendor-class-identifier = "android}";
          client-hostname "old-tv";
        }
        lease 192.168.7.21 {
          ends never;
          binding state active;
          client-hostname "nas";
          on expiry { set x = "y"; if 1 = 1 { log("{"); } }
        }
        lease 192.168.7.22 {
          ends epoch 1795690005; # Thu Nov 26 10:06:45 2026
          binding state active;
          client-hostname "phone";
        }
        lease 192.168.7.23 {
          ends 2 2026/11/24 22:00:00;
          binding state free;
          client-hostname "gone";
        }
        lease 192.168.7.24 {
          ends 2 2026/11/24 22:00:00;
          binding state active;
        }
        lease 192.168.7.20 {
          ends 4 2026/11/26 10:06:40;
          binding state active;
          client-hostname "tv";
        }
        lease 192.168.7.22 {
          ends epoch 1795690005;
          binding state expired;
          client-hostname "phone";
        }
        ia-na "\001\000\000\000\000\001\000\001,\237SKRT\000\252\273\001" {
          cltt 2 2026/11/24 10:00:00;
          iaaddr fd00:7::20 {
            binding state active;
            preferred-life 27000;
            max-life 43200;
            ends 4 2026/11/26 10:06:41;
            set ddns-fwd-name = "tv.home.example";
          }
        }
        ia-pd "\001\000" {
          iaprefix fd00:8::/56 {
            binding state active;
            ends 4 2026/11/26 10:06:41;
          }
        }
        """#

    @Test("dhcpd: the last record of an address counts, and only while it is active")
    func dhcpdFile() throws {
        #expect(
            try leases(dhcpd) == [
                "nas 192.168.7.21 never", "tv 192.168.7.20 1795687600", "tv fd00:7::20 1795687601",
            ])
        #expect(try file(dhcpd).ignored.count == 0)
        #expect(try file(dhcpd).leases.first { $0.label == Name("tv") }?.line == 44)
    }

    @Test("dhcpd: a record that is not complete yet changes nothing")
    func dhcpdTorn() throws {
        let whole = "lease 192.168.7.20 {\n  ends never;\n  binding state active;\n  client-hostname \"tv\";\n}\n"
        let next = "lease 192.168.7.20 {\n  ends never;\n  binding state active;\n  client-hostname \"x\";\n}"
        for count in 0..<next.utf8.count {
            #expect(try leases(whole + String(next.prefix(count))) == ["tv 192.168.7.20 never"], "\(count)")
        }
        #expect(try leases(whole + next) == ["x 192.168.7.20 never"])
    }

    @Test(
        "dhcpd: what is wrong is passed over, and the rest holds",
        arguments: [
            ("lease 192.168.7.300 { ends never; client-hostname \"a\"; }", ["2 address"]),
            ("lease 192.168.7.9 { ends 2 2026/13/24 22:00:00; client-hostname \"a\"; }", ["2 expiry"]),
            ("lease 192.168.7.9 { ends 2 yesterday; client-hostname \"a\"; }", ["2 expiry"]),
            ("lease 192.168.7.9 { client-hostname \"a\"; }", ["2 expiry"]),
            ("lease { ends never; }", ["2 address"]),
            ("lease 192.168.7.9 { ends never; client-hostname \"a\" }", ["2 shape"]),
            ("lease;", []), ("}}};;", []), ("host x { hardware ethernet 52:54:00:aa:bb:01; }", []),
        ] as [(String, [String])])
    func dhcpdDamage(_ line: String, _ complaints: [String]) throws {
        let text =
            "authoring-byte-order little-endian;\n\(line)\n"
            + "lease 192.168.7.20 { ends never; binding state active; client-hostname \"tv\"; }\n"
        #expect(try leases(text).contains("tv 192.168.7.20 never"))
        #expect(try ignored(text) == complaints)
    }

    // MARK: odhcpd

    private let odhcpd = """
        # br-lan 00010001aabbccdd525400aabb01 1a2b3c4d tv 1795690000 20 128 fd00:7::20/128 2001:db8::20/128
        fd00:7::20\ttv.lan\ttv
        2001:db8::20\ttv.lan\ttv
        # br-lan 00010001aabbccdd525400aabb02 1a2b3c4e router 1795690000 4 60 2001:db8:0:10::/60
        # br-lan 525400aabb03 ipv4 nas -1 c0a80715 32 192.168.7.21/32
        192.168.7.21\tnas.lan\tnas
        # br-lan 525400aabb04 ipv4 - 1795690000 c0a80716 32 192.168.7.22/32
        # br-lan 525400aabb05 ipv4 gone 0 c0a80717 32 192.168.7.23/32
        # br-lan 525400aabb06 ipv4 broken\\x20host! 1795690000 c0a80718 32 192.168.7.24/32

        """

    @Test("odhcpd: addresses of hosts, without delegated prefixes and leases that are over")
    func odhcpdFile() throws {
        #expect(
            try leases(odhcpd) == [
                "tv fd00:7::20 1795690000", "tv 2001:db8::20 1795690000", "nas 192.168.7.21 never",
            ])
        #expect(try file(odhcpd).refusedNames == 1)
        #expect(try file(odhcpd).ignored.count == 0)
    }

    @Test("odhcpd: a bad line is passed over")
    func odhcpdDamage() throws {
        let text = odhcpd + "# br-lan x\nnonsense\n# br-lan 52 ipv4 a later c0a80719 32 192.168.7.25/32\n"
        #expect(try leases(text).count == 3)
        #expect(try ignored(text) == ["10 shape", "11 shape", "12 shape"])
    }

    // MARK: all

    @Test("an empty file has no leases; another kind of file is none", arguments: ["", "\n", "# nothing yet\n"])
    func empty(_ text: String) throws {
        #expect(try file(text) == LeaseFile.none)
        for other in ["[section]\n", "PRIVATE KEY\n", "{\"leases\": []}\n", "\u{0}\u{1}\n"] {
            #expect(LeaseFile(parsing: Array((text + other).utf8)) == nil)
        }
    }

    @Test("a client's name is one label of a host name, and never one that programs ask for by themselves")
    func names() throws {
        for (name, label) in [
            ("tv", "tv"), ("TV-2", "TV-2"), ("a_b", "a_b"), ("7", "7"), ("www.bank.example", "www"), ("tv.lan.", "tv"),
            ("xn--bcher-kva", "xn--bcher-kva"), (String(repeating: "a", count: 63), String(repeating: "a", count: 63)),
        ] {
            #expect(Lease.label(of: name.utf8)?.description == label)
        }
        for name in [
            "", ".", "-tv", "tv-", "_tv", "tv_", "t v", "t\u{e9}", "tv!", "*", "\\116v", "wpad", "WPAD.lan", "isatap",
            "localhost", "a\u{0}b", String(repeating: "a", count: 64),
        ] {
            #expect(Lease.label(of: name.utf8) == nil, "\(name)")
        }
        let text = "1795690000 52:54:00:aa:bb:01 192.168.7.20 wpad *\n1795690000 52:54:00:aa:bb:01 192.168.7.21 -x *\n"
        #expect(try file(text).refusedNames == 2)
        #expect(try leases(text) == [])
    }

    @Test("more leases than a network has addresses are cut off, with a complaint")
    func flood() throws {
        let lines = (0..<LeaseFile.maxLeases + 5).map { "0 - 10.\($0 >> 16).\($0 >> 8 & 255).\($0 & 255) h\($0) *\n" }
        let parsed = try file(lines.joined())
        #expect(parsed.leases.count == LeaseFile.maxLeases)
        #expect(parsed.ignored.first.map(\.reason) == [.tooManyLeases])
        let records = (0..<LeaseFile.maxLeases + 5).map {
            "lease 10.\($0 >> 16).\($0 >> 8 & 255).\($0 & 255) { ends never; client-hostname \"h\($0)\"; }\n"
        }
        #expect(try file(records.joined()).leases.count == LeaseFile.maxLeases)
        #expect(try file(records.joined()).ignored.first.map(\.reason) == [.tooManyLeases])
    }

    @Test("no bytes stop the parsers")
    func bytes() {
        var generator = SeededGenerator(seed: 21)
        let texts = [dnsmasq, dhcpd, odhcpd].map { Array($0.utf8) }
        for _ in 0..<300 {
            for var text in texts {
                for _ in 0..<Int.random(in: 1...20, using: &generator) {
                    text[Int.random(in: text.indices, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
                }
                text.removeSubrange(Int.random(in: text.indices, using: &generator)...)
                guard let file = LeaseFile(parsing: text) else { continue }
                #expect(file.leases.allSatisfy { $0.label.isSingleLabel && $0.line > 0 })
            }
        }
    }
}
