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

package struct FairShare: Sendable {
    /// Number of an entry, given by the owner: small, as the tables have a row for each.
    package typealias ID = Int

    private enum Party: Hashable, Sendable {
        case domain(Name)
        case client(ClientID)
    }

    private struct Entry: Sendable {
        let holder: ShareHolder
        /// Rises with each entry.
        let serial: UInt64
    }

    /// The entries of a domain or client form a list in insertion order. An entry has two links: number `2 * id` in its
    /// domain's list, and `2 * id + 1` in its client's.
    private struct Link: Sendable {
        let party: Int
        var previous: Int?
        var next: Int?
    }

    private struct List: Sendable {
        var oldest: Int?
        var latest: Int?
    }

    /// 1 or more. Existing entries beyond a reduced capacity stay.
    package var capacity: Int
    package private(set) var count = 0
    private var entries: [Entry?] = []
    private var links: [Link?] = []
    private var parties = Numbering<Party>()
    /// By the number of the party.
    private var lists: [List] = []
    private var nextSerial: UInt64 = 0

    /// - Parameter capacity: 1 or more.
    package init(capacity: Int) {
        self.capacity = capacity
    }

    /// An eighth of the slots for one domain: seven domains that hang leave room for the rest.
    package var domainLimit: Int { max(1, capacity / Bounds.shareDivisor) }

    /// The same for one client. Loopback gets half of the slots: it stands for many programs, and their domains are
    /// limited.
    package func limit(of client: ClientID) -> Int {
        max(1, client.isLoopback ? capacity / 2 : capacity / Bounds.shareDivisor)
    }

    package func holder(of id: ID) -> ShareHolder? { entries.indices.contains(id) ? entries[id]?.holder : nil }

    package func count(of domain: Name) -> Int { count(of: .domain(domain)) }

    private func count(of party: Party) -> Int { parties.number(of: party).map { parties.uses[$0] } ?? 0 }

    /// Returns the entry to remove before `holder` may add one; nil while there is room. It is the oldest entry of the
    /// domain or client at its limit, else of the largest holder.
    ///
    /// - Parameter domainLimit: for this holder's domain; nil for the usual one.
    package func displaced(by holder: ShareHolder, domainLimit: Int? = nil) -> ID? {
        if count(of: holder.domain) >= domainLimit ?? self.domainLimit { return oldest(of: .domain(holder.domain)) }
        if let client = holder.client, count(of: .client(client)) >= limit(of: client) {
            return oldest(of: .client(client))
        }
        return count < capacity ? nil : oldestOfLargest()
    }

    /// Adds an entry. An entry with the same ID is replaced.
    package mutating func add(_ id: ID, for holder: ShareHolder) {
        remove(id)
        while entries.count <= id {
            entries.append(nil)
            links += [nil, nil]
        }
        entries[id] = Entry(holder: holder, serial: nextSerial)
        nextSerial += 1
        count += 1
        append(2 * id, to: .domain(holder.domain))
        if let client = holder.client { append(2 * id + 1, to: .client(client)) }
    }

    /// Removes an entry. An unknown ID is ignored.
    package mutating func remove(_ id: ID) {
        guard entries.indices.contains(id), entries[id] != nil else { return }
        entries[id] = nil
        count -= 1
        unlink(2 * id)
        unlink(2 * id + 1)
    }

    private mutating func append(_ link: Int, to party: Party) {
        let number = parties.use(party)
        if number == lists.count { lists.append(List()) }
        let last = lists[number].latest
        links[link] = Link(party: number, previous: last)
        if let last { links[last]?.next = link } else { lists[number].oldest = link }
        lists[number].latest = link
    }

    private mutating func unlink(_ number: Int) {
        guard let link = links[number] else { return }
        links[number] = nil
        if let previous = link.previous {
            links[previous]?.next = link.next
        } else {
            lists[link.party].oldest = link.next
        }
        if let next = link.next {
            links[next]?.previous = link.previous
        } else {
            lists[link.party].latest = link.previous
        }
        parties.end(link.party)
    }

    /// Returns the oldest entry of the domain.
    package func oldest(of domain: Name) -> ID? { oldest(of: .domain(domain)) }

    private func oldest(of party: Party) -> ID? {
        parties.number(of: party).flatMap { lists[$0].oldest }.map { $0 / 2 }
    }

    /// Returns the oldest entry of the largest holder; of equal holders, the one with the oldest entry, so that the
    /// result is deterministic. The count of a client with a larger limit is scaled down accordingly.
    private func oldestOfLargest() -> ID? {
        var largest: (weight: Int, serial: UInt64, id: ID)?
        for (party, number) in parties.all {
            var weight = parties.uses[number] * capacity
            if case .client(let client) = party { weight = weight / limit(of: client) * domainLimit }
            if let largest, largest.weight > weight { continue }
            guard let id = lists[number].oldest.map({ $0 / 2 }), let serial = entries[id]?.serial else { continue }
            if let largest, largest.weight == weight, largest.serial <= serial { continue }
            largest = (weight, serial, id)
        }
        return largest?.id
    }
}
