// Shares a bounded number of slots among registrable domains and clients. Selects the entry that a new one replaces, so
// that no single domain or client uses all slots.
//
// Invariant: each entry is counted for its domain and, if it has one, for its client, from `add` to `remove`.

package import DNSWire
import PublicSuffix

/// A client for the purpose of sharing: an IPv4 address, or an IPv6 /64, in which one host may use any address.
package struct ClientID: Hashable, Sendable {
    private let isIPv6: Bool
    private let bits: UInt64
    /// Loopback: all programs of this machine may share the address.
    package let isLoopback: Bool

    package init(_ address: Address) {
        let address = address.mapped ?? address
        isLoopback = address.isLoopback
        switch address {
        case .v4(let value): (isIPv6, bits) = (false, UInt64(value))
        case .v6(let high, _): (isIPv6, bits) = (true, high)
        }
    }
}

/// The domain and the client that an entry's slot counts for.
package struct ShareHolder: Hashable, Sendable {
    package let domain: Name
    /// Nil for the daemon's own requests.
    package let client: ClientID?

    package init(domain: Name, client: ClientID?) {
        self.domain = domain
        self.client = client
    }

    package init(_ name: Name, _ client: ClientID?) {
        self.init(domain: name.registrableDomain, client: client)
    }
}

package struct FairShare<ID: Hashable & Sendable>: Sendable {
    private enum Party: Hashable, Sendable {
        case domain(Name)
        case client(ClientID)
    }

    private struct Entry: Sendable {
        let holder: ShareHolder
        let number: UInt64
    }

    /// The entries of one domain or client in insertion order. Removed entries stay until they are half of the queue.
    private struct Queue: Sendable {
        var count = 0
        var numbers: [UInt64] = []

        mutating func add(_ number: UInt64) {
            count += 1
            numbers.append(number)
        }

        mutating func shorten(_ ids: [UInt64: ID]) {
            count -= 1
            if numbers.count > 2 * (count + 1) + 8 { numbers.removeAll { ids[$0] == nil } }
        }
    }

    /// 1 or more. Existing entries beyond a reduced capacity stay.
    package var capacity: Int
    private var entries: [ID: Entry] = [:]
    private var ids: [UInt64: ID] = [:]
    private var queues: [Party: Queue] = [:]
    private var nextNumber: UInt64 = 0

    /// - Parameter capacity: 1 or more.
    package init(capacity: Int) {
        self.capacity = capacity
    }

    package var count: Int { entries.count }

    /// An eighth of the slots for one domain: seven domains that hang leave room for the rest.
    package var domainLimit: Int { max(1, capacity / Bounds.shareDivisor) }

    /// The same for one client. Loopback gets half of the slots: it stands for many programs, and their domains are
    /// limited.
    package func limit(of client: ClientID) -> Int {
        max(1, client.isLoopback ? capacity / 2 : capacity / Bounds.shareDivisor)
    }

    package func holder(of id: ID) -> ShareHolder? { entries[id]?.holder }

    package func count(of domain: Name) -> Int { queues[.domain(domain)]?.count ?? 0 }

    /// Returns the entry to remove before `holder` may add one; nil while there is room. It is the oldest entry of the
    /// domain or client at its limit, else of the largest holder.
    ///
    /// - Parameter domainLimit: for this holder's domain; nil for the usual one.
    package func displaced(by holder: ShareHolder, domainLimit: Int? = nil) -> ID? {
        if count(of: holder.domain) >= domainLimit ?? self.domainLimit { return oldest(of: .domain(holder.domain)) }
        if let client = holder.client, queues[.client(client)]?.count ?? 0 >= limit(of: client) {
            return oldest(of: .client(client))
        }
        return count < capacity ? nil : oldestOfLargest()
    }

    /// Adds an entry. An entry with the same ID is replaced.
    package mutating func add(_ id: ID, for holder: ShareHolder) {
        remove(id)
        let number = nextNumber
        nextNumber += 1
        entries[id] = Entry(holder: holder, number: number)
        ids[number] = id
        queues[.domain(holder.domain), default: Queue()].add(number)
        if let client = holder.client { queues[.client(client), default: Queue()].add(number) }
    }

    /// Removes an entry. An unknown ID is ignored.
    package mutating func remove(_ id: ID) {
        guard let entry = entries.removeValue(forKey: id) else { return }
        ids[entry.number] = nil
        shorten(.domain(entry.holder.domain))
        if let client = entry.holder.client { shorten(.client(client)) }
    }

    private mutating func shorten(_ party: Party) {
        guard let index = queues.index(forKey: party) else { return }
        if queues.values[index].count > 1 {
            queues.values[index].shorten(ids)
        } else {
            queues.remove(at: index)
        }
    }

    private func oldestNumber(of party: Party) -> UInt64? { queues[party]?.numbers.first { ids[$0] != nil } }

    /// Returns the oldest entry of the domain.
    package func oldest(of domain: Name) -> ID? { oldest(of: .domain(domain)) }

    private func oldest(of party: Party) -> ID? { oldestNumber(of: party).flatMap { ids[$0] } }

    /// Returns the oldest entry of the largest holder; of equal holders, the one with the oldest entry, so that the
    /// result is deterministic. The count of a client with a larger limit is scaled down accordingly.
    private func oldestOfLargest() -> ID? {
        var largest: (weight: Int, number: UInt64)?
        for (party, queue) in queues {
            var weight = queue.count * capacity
            if case .client(let client) = party { weight = weight / limit(of: client) * domainLimit }
            if let largest, largest.weight > weight { continue }
            guard let number = oldestNumber(of: party) else { continue }
            if let largest, largest.weight == weight, largest.number <= number { continue }
            largest = (weight, number)
        }
        return largest.flatMap { ids[$0.number] }
    }
}
