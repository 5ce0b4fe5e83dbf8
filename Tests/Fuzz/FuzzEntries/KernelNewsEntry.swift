// Messages of the kernel about links, addresses, routes and neighbours. Their content is trusted, but not their
// lengths.

import DNSWire
import LinuxIO
import Network

extension FuzzEntry {
    package static let kernelNews = FuzzEntry(name: "KernelNews") { bytes in
        var mirror = KernelMirror()
        // A link, an address, a route and its gateway may each come in a datagram of their own, or all in one.
        mirror.take(bytes.span, now: now)
        mirror.take(bytes.span, now: now)
        let tables = mirror.tables
        precondition(Set(tables.links.map(\.index)).count == tables.links.count, "a link is there once")
        precondition(tables.neighbours.allSatisfy { (1...32).contains($0.hardwareAddress.count) }, "with an address")
        precondition(mirror.nat64Prefixes.count <= 16, "a router announces few")
    }

    private static let now = Clock.now()
}
