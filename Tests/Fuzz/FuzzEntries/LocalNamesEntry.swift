// Bytes of a hosts file or a lease file. Clients of DHCP choose the names in the latter.

import DNSWire
import Resolver

extension FuzzEntry {
    package static let localNames = FuzzEntry(name: "LocalNames") { bytes in
        let table = HostsTable(parsing: bytes)
        precondition(table.count <= bytes.count && table.ignored.first.count <= table.ignored.count, "lines have bytes")
        guard let file = LeaseFile(parsing: bytes) else { return }
        for lease in file.leases {
            precondition(lease.label.isSingleLabel && lease.line > 0, "a client has one label")
        }
        precondition(LeaseTable(file, path: "").count <= file.leases.count, "names come from leases")
    }
}
