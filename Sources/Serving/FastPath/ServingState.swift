// The partition of the cache that is served, and the groups of clients with answers of their own. The main thread
// changes both while serving threads read them for every packet.

package import DNSWire
import Synchronization

package final class ServingState: Sendable {
    private let partition: Atomic<UInt32>
    private let grouping = Atomic(UInt8(0))
    private let views = Mutex(ClientViews.none)
    /// Counts the changes of `views`.
    private let generation = Atomic(UInt64(0))
    private let filtering = Atomic(false)
    /// The multipliers for the subnet and for the view.
    private let multipliers: (UInt64, UInt64)

    /// - Parameter seed: random bits; they keep clients from choosing subnets that would share a partition.
    package init(_ partition: Partition, seed: UInt64) {
        self.partition = Atomic(partition.rawValue)
        multipliers = (seed | 1, seed.byteSwapped | 1)
    }

    /// The properties that separate groups of clients, as bits of `grouping`.
    private static let (bySubnet, byView, byHiding): (UInt8, UInt8, UInt8) = (1, 2, 4)

    /// - Parameters:
    ///   - dependsOnClient: a provider receives client subnets, so each subnet has its own answers.
    ///   - sendsSubnet: a provider receives a subnet of the settings, which clients may forbid.
    ///   - views: clients with rules or providers of their own.
    package func set(
        _ partition: Partition, dependsOnClient: Bool, sendsSubnet: Bool = false, views: ClientViews = .none
    ) {
        self.partition.store(partition.rawValue, ordering: .relaxed)
        self.views.withLock { $0 = views }
        generation.add(1, ordering: .releasing)
        let grouping =
            (dependsOnClient ? ServingState.bySubnet : 0) | (views.isEmpty ? 0 : ServingState.byView)
            | (dependsOnClient || sendsSubnet ? ServingState.byHiding : 0)
        // A reader that knows of the views must see them.
        self.grouping.store(grouping, ordering: .releasing)
    }

    /// - Parameter isOn: AAAA questions get no data, whatever the cache contains.
    package func setAAAAFilter(_ isOn: Bool) { filtering.store(isOn, ordering: .relaxed) }

    package var filtersAAAA: Bool { filtering.load(ordering: .relaxed) }

    /// The views as one reader knows them. They are copied after a change only, so that packets take no lock.
    struct KnownViews {
        fileprivate var views = ClientViews.none
        fileprivate var generation: UInt64 = 0
    }

    /// Returns the group of a client. Clients on this machine are in no view, and have no subnet.
    ///
    /// - Parameters:
    ///   - hidesSubnet: the client's query forbids sending its subnet.
    ///   - known: the views of the reader, which are brought up to date.
    func group(of client: Address, hidesSubnet: Bool, _ known: inout KnownViews) -> ClientGroup {
        let grouping = grouping.load(ordering: .acquiring)
        let isHidden = hidesSubnet && grouping & ServingState.byHiding != 0
        guard grouping != 0, !client.isLoopback else { return ClientGroup(view: 0, hidesSubnet: isHidden) }
        let view = grouping & ServingState.byView == 0 ? 0 : number(of: client, &known)
        if isHidden { return ClientGroup(view: view, hidesSubnet: true) }
        return grouping & ServingState.bySubnet == 0 ? ClientGroup(view: view) : ClientGroup(of: client, view: view)
    }

    private func number(of client: Address, _ known: inout KnownViews) -> UInt32 {
        let present = generation.load(ordering: .acquiring)
        if present != known.generation { (known.views, known.generation) = (views.withLock { $0 }, present) }
        return known.views.number(of: client)
    }

    /// Returns the partition of a group: the upper half of a sum of products is a universal hash (Dietzfelbinger 1996).
    package func partition(for group: ClientGroup) -> Partition {
        partition(for: group, of: Partition(rawValue: partition.load(ordering: .relaxed)))
    }

    /// - Parameter network: the partition of a network, in use or not.
    package func partition(for group: ClientGroup, of network: Partition) -> Partition {
        let sum = group.subnetCode &* multipliers.0 &+ UInt64(group.view) &* multipliers.1
        return Partition(rawValue: network.rawValue ^ UInt32(truncatingIfNeeded: sum >> 32))
    }
}
