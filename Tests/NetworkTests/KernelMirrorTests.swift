// The effects of the kernel's messages. The vectors were recorded in a network namespace, in the order of their names;
// their heads state how the tables differ after each of them.

import CLinux
import DNSWire
import Glibc
import LinuxIO
import TestSupport
import Testing

@testable import Network

struct KernelMirrorTests {
    private static let vectors: [HexVector] = {
        let folder = TestFile.folder(of: #filePath) + "/Vectors"
        return (try? HexVector.all(in: folder)) ?? []
    }()

    @Test func `recorded messages become the tables that the kernel had`() {
        #expect(KernelMirrorTests.vectors.count == 11)
        var mirror = KernelMirror()
        var before: [String] = []
        for vector in KernelMirrorTests.vectors {
            mirror.take(vector.bytes.span, now: start)
            let after = mirror.tables.lines + mirror.nat64Prefixes.map(line)
            #expect(after.filter { !before.contains($0) } == vector.values("added"), "\(vector)")
            #expect(before.filter { !after.contains($0) } == vector.values("gone"), "\(vector)")
            #expect(isChanged(&mirror) == (after != before), "\(vector)")
            before = after
        }
    }

    @Test func `messages that were taken already change nothing`() {
        for vector in KernelMirrorTests.vectors.prefix(7) {
            var mirror = filled(before: vector)
            mirror.take(vector.bytes.span, now: start)
            let once = mirror.tables
            mirror.take(vector.bytes.span, now: start)
            #expect(mirror.tables == once, "\(vector)")
        }
    }

    @Test(arguments: vectors)
    func `a message that is cut short is passed over, and those before it are not`(vector: HexVector) {
        let former = filled(before: vector)
        var last = former.tables
        var differences = 0
        for count in 0...vector.bytes.count {
            var mirror = former
            mirror.take(vector.bytes.span.extracting(first: count), now: start)
            if mirror.tables != last { differences += 1 }
            last = mirror.tables
        }
        #expect(differences <= messages(in: vector))
    }

    @Test(arguments: [UInt64(1), 2, 3])
    func `bytes that no kernel would send are survived`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        for _ in 0..<300 {
            var mirror = KernelMirror()
            for vector in KernelMirrorTests.vectors where vector.bytes.count < 4096 {
                var bytes = vector.bytes
                for _ in 0..<Int.random(in: 1...8, using: &random) {
                    let index = Int.random(in: bytes.indices, using: &random)
                    bytes[index] = UInt8.random(in: .min ... .max, using: &random)
                }
                mirror.take(bytes.span, now: start)
            }
            let tables = mirror.tables
            #expect(tables.neighbours.allSatisfy { (1...32).contains($0.hardwareAddress.count) }, "seed \(seed)")
            #expect(mirror.nat64Prefixes.count <= 16, "seed \(seed)")
        }
    }

    @Test
    func `a NAT64 prefix ends when the router said, later when it repeats itself, and at once when it says so`() {
        var bytes = announcement
        var mirror = filled(before: KernelMirrorTests.vectors[8])
        mirror.take(bytes.span, now: start)
        #expect(isChanged(&mirror))
        #expect(mirror.nat64Prefixes.map(\.end) == [start + .seconds(1800)])
        mirror.take(bytes.span, now: start + .seconds(600))
        #expect(!isChanged(&mirror))
        #expect(mirror.nat64Prefixes.map(\.end) == [start + .seconds(2400)])
        // The bytes are the option's lifetime and length code, after two headers of 16 bytes and the option's type and
        // length.
        bytes.replaceSubrange(34..<36, with: [0, 0])
        mirror.take(bytes.span, now: start)
        #expect(isChanged(&mirror))
        #expect(mirror.nat64Prefixes.isEmpty)
    }

    @Test(arguments: [(UInt8(0), 96), (1, 64), (2, 56), (3, 48), (4, 40), (5, 32)])
    func `a NAT64 prefix has one of six lengths, and zeros after it`(code: UInt8, length: Int) throws {
        var bytes = announcement
        bytes[35] = bytes[35] & 0xF8 | code
        bytes.replaceSubrange(36..<48, with: [UInt8](repeating: 0xFF, count: 12))
        // The byte holds bits 64 to 71, which must be zero (RFC 6052 section 2.2).
        bytes[44] = 0
        var mirror = filled(before: KernelMirrorTests.vectors[8])
        mirror.take(bytes.span, now: start)
        let found = try #require(mirror.nat64Prefixes.first)
        #expect(found.prefix.prefix.length == length)
        let ones = (0..<16).map { UInt8(clamping: $0 * 8 < length && $0 != 8 ? 255 : 0) }
        #expect(found.prefix.prefix.address.bytes == ones)
    }

    @Test func `a prefix of 96 bits with other than zeros in bits 64 to 71 is ignored`() {
        var bytes = announcement
        bytes[44] = 1
        var mirror = filled(before: KernelMirrorTests.vectors[8])
        mirror.take(bytes.span, now: start)
        #expect(mirror.nat64Prefixes.isEmpty)
    }

    @Test func `a length code that does not exist is no NAT64 prefix`() {
        var bytes = announcement
        for code: UInt8 in [6, 7] {
            bytes[35] = bytes[35] & 0xF8 | code
            var mirror = KernelMirror()
            mirror.take(bytes.span, now: start)
            #expect(mirror.nat64Prefixes.isEmpty)
        }
    }

    /// A router advertisement with one option.
    private var announcement: [UInt8] {
        let bytes = KernelMirrorTests.vectors[8].bytes
        var messages = NetlinkMessages()
        while let message = messages.next(in: bytes.span) {
            if message.type == RTM_NEWNDUSEROPT {
                return Array(bytes[(message.payload.lowerBound - 16)..<message.payload.upperBound])
            }
        }
        return []
    }

    private func isChanged(_ mirror: inout KernelMirror) -> Bool { mirror.takeChange() }

    private func filled(before vector: HexVector) -> KernelMirror {
        var mirror = KernelMirror()
        for former in KernelMirrorTests.vectors where former.name < vector.name {
            mirror.take(former.bytes.span, now: start)
        }
        _ = mirror.takeChange()
        return mirror
    }

    private func messages(in vector: HexVector) -> Int {
        var messages = NetlinkMessages()
        var count = 0
        while messages.next(in: vector.bytes.span) != nil { count += 1 }
        return count
    }

    private func line(_ prefix: AdvertisedPrefix) -> String {
        "nat64 \(prefix.prefix) on \(prefix.link) for \(start.duration(to: prefix.end))"
    }
}

private let start = Clock.now()
