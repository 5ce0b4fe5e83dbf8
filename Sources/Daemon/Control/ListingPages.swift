// The pages of the listings on the control socket. Each page is produced after the previous one has been sent, from a
// bounded part of the data, so that no listing delays other answers by more than 1 ms.

import Control
import DNSWire
import HTTPDNS
import LinuxIO
import Resolver
import Serving
import Telemetry
import Upstreams

/// The pages of one answer.
struct ListingPages<Content: Listing>: Sequence, IteratorProtocol {
    private var listing: Content
    private let nextEntries: () -> [Content.Entry]?
    private var hasEnded = false

    /// - Parameter nextEntries: returns the entries of the next page; nil after the last one.
    init(_ listing: Content, nextEntries: @escaping () -> [Content.Entry]?) {
        self.listing = listing
        self.nextEntries = nextEntries
    }

    mutating func next() -> String? {
        guard !hasEnded else { return nil }
        guard !listing.isFull, let entries = nextEntries() else {
            hasEnded = true
            return listing.end()
        }
        return listing.page(of: entries)
    }
}

/// Slices of an array.
private struct Chunks<Element>: IteratorProtocol {
    private var rest: ArraySlice<Element>
    private let size: Int

    init(_ elements: [Element], of size: Int) {
        rest = elements[...]
        self.size = size
    }

    mutating func next() -> [Element]? {
        defer { rest = rest.dropFirst(size) }
        return rest.isEmpty ? nil : Array(rest.prefix(size))
    }
}

/// Entries of the cache. One step takes about 0.1 ms.
private struct CacheWalk: IteratorProtocol {
    private static let maxEntries = 32

    private let cache: AnswerCache
    private let scope: QuestionScope
    private var cursor: AnswerCache.Cursor? = AnswerCache.Cursor()

    init(_ cache: AnswerCache, _ scope: QuestionScope) {
        self.cache = cache
        self.scope = scope
    }

    mutating func next() -> [CachedEntry]? {
        guard let here = cursor else { return nil }
        let step = cache.walk(from: here, scope, maxEntries: CacheWalk.maxEntries)
        cursor = step.next
        return step.entries
    }
}

/// Names per page; each has a few addresses.
private let maxNames = 8
/// Evidence reports per page, up to 2 KiB each.
private let maxReports = 8
/// Events per page, each some microseconds.
private let maxEvents = 100

extension ListingPages<CacheListing> {
    /// - Parameter nowMilliseconds: reference time of ages, however long the listing takes.
    init(of cache: AnswerCache, _ resolving: ResolvingLoop, _ listing: CacheListing, nowMilliseconds: Int64) {
        var walk = CacheWalk(cache, listing.scope)
        let withRecords = listing.view != .list
        self.init(listing) {
            walk.next()?.map { entry in
                var report = CacheEntryReport(entry, withRecords: withRecords, nowMilliseconds: nowMilliseconds)
                report.source = resolving.source(of: entry)
                return report
            }
        }
    }
}

extension ListingPages<FlightListing> {
    /// Events that are overwritten meanwhile are left out.
    init(of records: FlightRecords, _ listing: FlightListing, showsClients: Bool) {
        let boot = Clock.bootMicrosecondsSince1970()
        var walk = FlightWalk(records, fromOldest: true)
        self.init(listing) {
            var events: [FlightEventReport] = []
            while events.count < maxEvents, let event = walk.next() {
                events.append(
                    FlightEventReport(event, bootMicroseconds: boot, showsClients: showsClients) { records.words[$0] })
            }
            return events.isEmpty ? nil : events
        }
    }
}

extension ListingPages<VerdictListing> {
    init(of resolving: ResolvingLoop, _ listing: VerdictListing, now: Instant) {
        var names = Chunks(listing.name.map { [$0] } ?? resolving.judgedNames, of: maxNames)
        self.init(listing) {
            names.next()?.flatMap(resolving.judged).map {
                AddressReport($0, now: now, nameOfSource: resolving.upstreams.name)
            }
        }
    }
}

extension ListingPages<EvidenceListing> {
    init(of reports: [EvidenceReport], _ listing: EvidenceListing) {
        var chunks = Chunks(reports, of: maxReports)
        self.init(listing) { chunks.next() }
    }
}

extension ListingPages<WhoisListing> {
    /// The names come from the cache, and then from the verification table, because throttled addresses are in no
    /// entry.
    init(of cache: AnswerCache, _ resolving: ResolvingLoop, _ listing: WhoisListing, now: Instant) {
        let address = listing.address
        var walk = CacheWalk(cache, QuestionScope(.root, includesDescendants: true, type: address.recordType))
        var names: Chunks<Name>?
        self.init(listing) {
            if let entries = walk.next() {
                return entries.filter { $0.leads(to: address) }.map { WhoisEntry($0, now: now) }
            }
            names = names ?? Chunks(resolving.judgedNames, of: maxNames)
            return names?.next()?.flatMap(resolving.judged).filter { $0.target.address == address }.map { judged in
                WhoisEntry(judged, AddressReport(judged, now: now, nameOfSource: resolving.upstreams.name))
            }
        }
    }
}

extension WhoisEntry {
    fileprivate init(_ entry: CachedEntry, now: Instant) {
        let report = CacheEntryReport(
            entry, withRecords: false, nowMilliseconds: Clock.millisecondsSinceBoot(now))
        self.init(
            name: report.name, type: report.type, state: report.state.rawValue, provenance: report.provenance,
            ageSeconds: report.ageSeconds)
    }

    fileprivate init(_ judged: JudgedAddress, _ report: AddressReport) {
        let sources = report.sources ?? []
        self.init(
            name: report.name, type: judged.target.address.recordType.description,
            state: judged.place.rawValue, provenance: sources.isEmpty ? "-" : sources.joined(separator: ","),
            ageSeconds: report.ageSeconds)
    }
}

extension CachedEntry {
    fileprivate func leads(to address: Address) -> Bool { records.contains { $0.address == address } }
}

extension CacheEntryReport {
    init(_ entry: CachedEntry, withRecords: Bool, nowMilliseconds: Int64) {
        let ageMilliseconds = max(0, nowMilliseconds - entry.storedAtMilliseconds)
        let leftMilliseconds = Int64(entry.lifetimeSeconds) * 1000 - ageMilliseconds
        self.init(
            name: entry.question.name.description, type: entry.question.typeText,
            rcode: entry.answer.responseCode.description)
        state = leftMilliseconds > 0 ? .fresh : .expired
        ageSeconds = Int(ageMilliseconds / 1000)
        lifetimeSeconds = Int(entry.lifetimeSeconds)
        ttlSeconds = lifetimeSeconds - ageSeconds
        provenance = "\(entry.sourceClass)"
        partition = Int(entry.partition.rawValue)
        hits = Int(entry.hits)
        if withRecords { records = entry.records.map { Record($0, ageSeconds: ageSeconds) } }
    }
}

extension CachedEntry {
    /// The parsed records of the answer; empty if they can't be parsed. Cached answers were rendered from parsed
    /// records.
    var records: [ResourceRecord] {
        do throws(MalformedMessage) { return try answer.records(of: question) } catch { return [] }
    }
}

extension CacheEntryReport.Record {
    /// Shows data of types without a presentation format in the generic form of RFC 3597 section 5.
    init(_ record: ResourceRecord, ageSeconds: Int) {
        self.init(
            name: record.owner.isRoot ? "." : "\(record.owner).",
            ttlSeconds: max(0, Int(record.ttlSeconds) - ageSeconds),
            type: record.type.description,
            data: PresentationForm.text(of: record) ?? PresentationForm.genericText(of: record.data))
    }
}
