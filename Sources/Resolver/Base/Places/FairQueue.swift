// Shares places among clients, their domains and the parents of the names: a free place goes to the next entry that
// asks; if none is free, the next place goes to the holder with the fewest places. No holder has a limit of its own.
//
// The tree of holders exists only while more entries wait than `unsortedMost`: without competition there is nothing to
// share.
//
// Invariants: an entry waits in its leaf, or in `unsorted` without a tree, or is in the list of holders; the counts of
// a node are the sums of its leaves; a node without entries does not exist. Each step costs the logarithm of the number
// of neighbours in the tree.

package struct FairQueue: Sendable {
    /// Number of an entry, given by the owner: small, as a table has a row for each.
    package typealias ID = Int

    private struct Place: Hashable, Sendable {
        let above: Int
        let part: ShareHolder.Part
    }

    private struct Node: Sendable {
        let place: Place
        let depth: Int
        var held = 0
        var waiting = 0
        /// When the node got a place last, or was created.
        var turn: UInt64
        /// Children that wait: those with the fewest places first.
        var next = ChildHeap()
        /// Children that wait: those with the most waiting entries first; of equal ones by `leaving`.
        var largest = ChildHeap()
        /// Waiting entries of a leaf. Those of names that were answered lately go first.
        var known = List()
        var unknown = List()
    }

    private struct List: Sendable {
        var first: ID?
        var last: ID?
    }

    /// A row of the table. Not optional, so that one field is read without a copy of the others.
    private struct Entry: Sendable {
        enum State { case absent, waiting, held }

        var state = State.absent
        /// The holder; nil without an entry.
        var holder: ShareHolder?
        /// The leaf of the holder; nil without a tree.
        var leaf: Int?
        /// The place in the order of arrival: it rises with each entry.
        var serial: UInt64 = 0
        var previous: ID?
        var next: ID?
    }

    /// Existing entries beyond a reduced capacity keep their places.
    package var capacity: Int
    private var entries: [Entry] = []
    /// Entries with a place.
    package private(set) var heldCount = 0
    package private(set) var waitingCount = 0
    /// The tree exists.
    private var isSorted = false
    /// Entries that wait without a tree, in the order of their arrival.
    private var unsorted = List()
    private let unsortedMost: Int
    /// The nodes. Those in `freeNodes` are not in the tree.
    private var nodes: [Node]
    private var freeNodes: [Int] = []
    private var numberOfPlace: [Place: Int] = [:]
    /// The position of each node in `next` and in `largest` of its parent node.
    private var positions = ChildHeap.Positions()
    private var largestPositions = ChildHeap.Positions()
    /// Entries with a place, in the order in which they got it.
    private var holders = List()
    private var nextSerial: UInt64 = 0

    private let leaving: Age

    private static let root = 0

    package enum Age: Sendable { case oldest, newest }

    /// - Parameters:
    ///   - leaving: the waiting entry that makes room at the owner's bound.
    ///   - unsortedMost: the number of entries that may wait without a tree: the owner does not ask which entry is
    ///     next, or leaves.
    package init(capacity: Int, leaving: Age = .newest, unsortedMost: Int = 1) {
        self.capacity = capacity
        self.leaving = leaving
        self.unsortedMost = unsortedMost
        nodes = FairQueue.emptyTree
    }

    private static let emptyTree = [Node(place: Place(above: -1, part: .root), depth: 0, turn: 0)]

    package func contains(_ id: ID) -> Bool { entries.indices.contains(id) && entries[id].state != .absent }
    package func isHeld(_ id: ID) -> Bool { entries.indices.contains(id) && entries[id].state == .held }

    // MARK: changes

    /// Queues an entry. An entry with the same number is replaced.
    package mutating func add(_ id: ID, for holder: ShareHolder) {
        remove(id)
        while entries.count <= id { entries.append(Entry()) }
        (entries[id].state, entries[id].holder, entries[id].serial) = (.waiting, holder, nextSerial)
        nextSerial += 1
        enqueue(id)
    }

    /// Adds an entry that has its place at once.
    package mutating func add(held id: ID, for holder: ShareHolder) {
        guard !isSorted else {
            add(id, for: holder)
            return hold(id)
        }
        remove(id)
        while entries.count <= id { entries.append(Entry()) }
        entries[id] = Entry(state: .held, holder: holder, serial: nextSerial)
        nextSerial += 1
        FairQueue.append(id, to: &holders, &entries)
        heldCount += 1
    }

    /// The entry that gets the next place; nil: none waits.
    package var next: ID? {
        guard isSorted else { return unsorted.first }
        var node = FairQueue.root
        while let child = nodes[node].next.first { node = child }
        return nodes[node].known.first ?? nodes[node].unknown.first
    }

    /// Gives the next place, if one is free.
    package mutating func take() -> ID? { heldCount < capacity ? takeNext() : nil }

    /// Gives a place even if none is free: for an owner with bounds of its own.
    package mutating func takeNext() -> ID? {
        guard let id = next else { return nil }
        hold(id)
        return id
    }

    /// Gives a place to an entry that waits.
    package mutating func hold(_ id: ID) {
        guard contains(id), !isHeld(id) else { return }
        unlink(id)
        entries[id].state = .held
        FairQueue.append(id, to: &holders, &entries)
        (heldCount, waitingCount) = (heldCount + 1, waitingCount - 1)
        if let leaf = entries[id].leaf { count(leaf, held: 1, waiting: -1) }
        unsortIfQuiet()
    }

    /// Lets an entry with a place wait again.
    package mutating func suspend(_ id: ID) {
        guard isHeld(id) else { return }
        FairQueue.remove(id, from: &holders, &entries)
        entries[id].state = .waiting
        heldCount -= 1
        enqueue(id, gaveUp: 1)
    }

    /// Removes an entry. An unknown number is ignored.
    package mutating func remove(_ id: ID) {
        guard contains(id) else { return }
        let (isHeld, leaf) = (isHeld(id), entries[id].leaf)
        if isHeld {
            FairQueue.remove(id, from: &holders, &entries)
            heldCount -= 1
        } else {
            unlink(id)
            waitingCount -= 1
        }
        (entries[id].state, entries[id].holder, entries[id].leaf) = (.absent, nil, nil)
        guard let leaf else { return }
        count(leaf, held: isHeld ? -1 : 0, waiting: isHeld ? 0 : -1)
        unsortIfQuiet()
    }

    // MARK: who leaves

    /// The entry that got its place first.
    package var oldestHeld: ID? { holders.first }

    /// The entry that got its place next after this one.
    package func held(after id: ID) -> ID? { entries[id].next }

    /// Whether the first entry's holder would have at least as many places as the second one's after giving it a place.
    /// Compares the holders where their paths part.
    package func outweighs(_ one: ID, _ other: ID) -> Bool {
        guard contains(one), contains(other), var left = entries[one].leaf, var right = entries[other].leaf,
            left != right
        else { return false }
        while nodes[left].place.above != nodes[right].place.above {
            let depths = (nodes[left].depth, nodes[right].depth)
            if depths.0 >= depths.1 { left = nodes[left].place.above }
            if depths.1 >= depths.0 { right = nodes[right].place.above }
        }
        return nodes[left].held > nodes[right].held + 1
    }

    /// The waiting entry that makes room: of the holder with the most waiting entries. Nil: none waits.
    package var waitingOfLargest: ID? {
        guard isSorted else { return leaving == .oldest ? unsorted.first : unsorted.last }
        var node = FairQueue.root
        while let child = nodes[node].largest.first { node = child }
        let (known, unknown) = (nodes[node].known, nodes[node].unknown)
        let isOldest = leaving == .oldest
        guard let one = isOldest ? known.first : known.last, let other = isOldest ? unknown.first : unknown.last else {
            return isOldest ? known.first ?? unknown.first : known.last ?? unknown.last
        }
        let isOneOlder = entries[one].serial < entries[other].serial
        return isOneOlder == isOldest ? one : other
    }

    // MARK: the tree

    /// Builds the tree, if there is none: the owner compares holders.
    package mutating func sort() {
        guard !isSorted else { return }
        isSorted = true
        var held = holders.first
        while let id = held {
            held = entries[id].next
            guard let holder = entries[id].holder else { continue }
            let leaf = leaf(of: holder)
            entries[id].leaf = leaf
            count(leaf, held: 1, waiting: 0)
        }
        var waiting = unsorted.first
        unsorted = List()
        while let id = waiting {
            waiting = entries[id].next
            link(id)
            if let leaf = entries[id].leaf { count(leaf, held: 0, waiting: 1) }
        }
    }

    /// Drops the tree when hardly any entries compete.
    private mutating func unsortIfQuiet() {
        guard isSorted, waitingCount <= unsortedMost / 2, heldCount <= Bounds.quietHolders else { return }
        let waiting = entries.indices.filter { entries[$0].state == .waiting }
            .sorted { entries[$0].serial < entries[$1].serial }
        for id in entries.indices { entries[id].leaf = nil }
        (nodes, freeNodes, numberOfPlace) = (FairQueue.emptyTree, [], [:])
        (positions, largestPositions) = (ChildHeap.Positions(), ChildHeap.Positions())
        isSorted = false
        for id in waiting { link(id) }
    }

    private mutating func leaf(of holder: ShareHolder) -> Int {
        var node = FairQueue.root
        if let network = holder.client?.network { node = child(of: node, .network(network)) }
        node = child(of: node, .client(holder.client))
        node = child(of: node, .name(holder.domain))
        return child(of: node, .name(holder.parent))
    }

    private mutating func child(of above: Int, _ part: ShareHolder.Part) -> Int {
        let place = Place(above: above, part: part)
        if let number = numberOfPlace[place] { return number }
        let node = Node(place: place, depth: nodes[above].depth + 1, turn: nextSerial)
        let number = freeNodes.popLast() ?? nodes.count
        if number == nodes.count { nodes.append(node) } else { nodes[number] = node }
        numberOfPlace[place] = number
        return number
    }

    /// Changes the counts from a leaf up to the root, and the order of each node among its neighbours. A further place
    /// is a turn.
    private mutating func count(_ leaf: Int, held moreHeld: Int, waiting moreWaiting: Int) {
        let turn = nextSerial
        if moreHeld > 0 { nextSerial += 1 }
        var number = leaf
        while true {
            nodes[number].held += moreHeld
            nodes[number].waiting += moreWaiting
            if moreHeld > 0 { nodes[number].turn = turn }
            guard number != FairQueue.root else { return }
            let above = nodes[number].place.above
            let (held, waiting, turn) = (nodes[number].held, nodes[number].waiting, nodes[number].turn)
            if waiting > 0 {
                nodes[above].next.set(number, (held, turn), &positions)
                let order = leaving == .oldest ? turn : .max - turn
                nodes[above].largest.set(number, (-waiting, order), &largestPositions)
            } else {
                nodes[above].next.remove(number, &positions)
                nodes[above].largest.remove(number, &largestPositions)
                if held == 0 {
                    numberOfPlace[nodes[number].place] = nil
                    freeNodes.append(number)
                }
            }
            number = above
        }
    }

    /// Lets an entry wait.
    ///
    /// - Parameter gaveUp: places that the entry had.
    private mutating func enqueue(_ id: ID, gaveUp: Int = 0) {
        waitingCount += 1
        link(id)
        if let leaf = entries[id].leaf { count(leaf, held: -gaveUp, waiting: 1) }
        if waitingCount > unsortedMost { sort() }
    }

    /// Puts an entry at the end of the waiting entries, without counting it.
    private mutating func link(_ id: ID) {
        guard isSorted else { return FairQueue.append(id, to: &unsorted, &entries) }
        guard let holder = entries[id].holder else { return }
        let leaf = entries[id].leaf ?? leaf(of: holder)
        entries[id].leaf = leaf
        if holder.isKnown {
            FairQueue.append(id, to: &nodes[leaf].known, &entries)
        } else {
            FairQueue.append(id, to: &nodes[leaf].unknown, &entries)
        }
    }

    /// Takes an entry from the waiting entries, without counting it.
    private mutating func unlink(_ id: ID) {
        guard contains(id) else { return }
        guard let leaf = entries[id].leaf else { return FairQueue.remove(id, from: &unsorted, &entries) }
        if entries[id].holder?.isKnown ?? false {
            FairQueue.remove(id, from: &nodes[leaf].known, &entries)
        } else {
            FairQueue.remove(id, from: &nodes[leaf].unknown, &entries)
        }
    }

    private static func append(_ id: ID, to list: inout List, _ entries: inout [Entry]) {
        entries[id].previous = list.last
        entries[id].next = nil
        if let last = list.last { entries[last].next = id } else { list.first = id }
        list.last = id
    }

    private static func remove(_ id: ID, from list: inout List, _ entries: inout [Entry]) {
        let (previous, next) = (entries[id].previous, entries[id].next)
        if let previous { entries[previous].next = next } else { list.first = next }
        if let next { entries[next].previous = previous } else { list.last = previous }
    }
}
