// The partition of the cache that is served. The main thread changes it while serving threads read it for every
// packet.

package import DNSWire
import Synchronization

package final class ServingView: Sendable {
    private let partition: Atomic<UInt32>
    private let dependsOnClient = Atomic(false)
    private let filtering = Atomic(false)
    private let multiplier: UInt64

    /// - Parameter seed: keeps clients from choosing subnets that would share a partition.
    package init(_ partition: Partition, seed: UInt64) {
        self.partition = Atomic(partition.rawValue)
        multiplier = seed | 1
    }

    /// - Parameter dependsOnClient: a provider receives client subnets, so each subnet has its own answers.
    package func set(_ partition: Partition, dependsOnClient: Bool) {
        self.partition.store(partition.rawValue, ordering: .relaxed)
        self.dependsOnClient.store(dependsOnClient, ordering: .relaxed)
    }

    /// - Parameter isOn: AAAA questions get no data, whatever the cache contains.
    package func setAAAAFilter(_ isOn: Bool) { filtering.store(isOn, ordering: .relaxed) }

    package var filtersAAAA: Bool { filtering.load(ordering: .relaxed) }

    package func subnet(of client: Address) -> ClientSubnet {
        dependsOnClient.load(ordering: .relaxed) ? ClientSubnet(of: client) : .none
    }

    /// Returns the partition of a subnet: the upper half of a product is a universal hash (Dietzfelbinger 1996).
    package func partition(for subnet: ClientSubnet) -> Partition {
        partition(for: subnet, of: Partition(rawValue: partition.load(ordering: .relaxed)))
    }

    /// - Parameter network: partition of a network, in use or not.
    package func partition(for subnet: ClientSubnet, of network: Partition) -> Partition {
        let part = UInt32(truncatingIfNeeded: (subnet.code &* multiplier) >> 32)
        return Partition(rawValue: network.rawValue ^ part)
    }
}
