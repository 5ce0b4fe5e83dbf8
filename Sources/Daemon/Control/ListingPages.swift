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
enum ListingPages {
    /// Entries of the cache per step, which takes about 0.1 ms.
    private static let maxEntries = 32
    /// Names per page; each has a few addresses.
    private static let maxNames = 8
    /// Evidence reports per page, up to 2 KiB each.
    private static let maxReports = 8
    /// Events per page, each some microseconds.
    private static let maxEvents = 100

    /// - Parameter nextEntries: returns the entries of the next page; nil after the last one.
    private static func pages<Entry>(
        _ listing: Listing<Entry>, nextEntries: @escaping () -> [Entry]?
    ) -> AnyIterator<String> {
        var (listing, hasEnded) = (listing, false)
        return AnyIterator {
            guard !hasEnded else { return nil }
            if !listing.isFull, let entries = nextEntries() { return listing.page(of: entries) }
            hasEnded = true
            return listing.end()
        }
    }

    /// Returns a function that returns slices of an array.
    private static func slices<Element>(_ elements: [Element], of size: Int) -> () -> [Element]? {
        var rest = elements[...]
        return {
            defer { rest = rest.dropFirst(size) }
            return rest.isEmpty ? nil : Array(rest.prefix(size))
        }
    }

    private static func entries(of cache: AnswerCache, _ scope: QuestionScope) -> () -> [CachedEntry]? {
        var cursor: AnswerCache.Cursor? = AnswerCache.Cursor()
        return {
            guard let here = cursor else { return nil }
            let step = cache.walk(from: here, scope, maxEntries: maxEntries)
            cursor = step.next
            return step.entries
        }
    }

    /// - Parameter nowMilliseconds: reference time of ages, however long the listing takes.
    static func cache(
        _ cache: AnswerCache, _ resolving: ResolvingLoop, _ view: CacheView, _ scope: QuestionScope, wantsJSON: Bool,
        nowMilliseconds: Int64
    ) -> AnyIterator<String> {
        let next = entries(of: cache, scope)
        return pages(Listing(of: view, scope, wantsJSON: wantsJSON)) {
            next()?.map { entry in
                var report = CacheEntryReport(
                    entry, withRecords: view != .list, nowMilliseconds: nowMilliseconds)
                report.source = resolving.source(of: entry)
                return report
            }
        }
    }

    /// Events that are overwritten meanwhile are left out.
    static func events(
        _ records: FlightRecords, _ scope: FlightScope, showsClients: Bool, wantsJSON: Bool
    ) -> AnyIterator<String> {
        let boot = Clock.bootMicrosecondsSince1970()
        var walk = FlightWalk(records, fromOldest: true)
        return pages(Listing<FlightEventReport>(wantsJSON: wantsJSON, scope: scope)) {
            var events: [FlightEventReport] = []
            while events.count < maxEvents, let event = walk.next() {
                events.append(
                    FlightEventReport(event, bootMicroseconds: boot, showsClients: showsClients) { records.words[$0] })
            }
            return events.isEmpty ? nil : events
        }
    }

    static func verdicts(
        _ resolving: ResolvingLoop, on name: Name?, wantsJSON: Bool, now: Instant
    ) -> AnyIterator<String> {
        let next = slices(name.map { [$0] } ?? resolving.resolver.judgedNames, of: maxNames)
        return pages(Listing(ofVerdictsOn: name, wantsJSON: wantsJSON)) {
            next()?.flatMap(resolving.resolver.judged).map {
                AddressReport($0, now: now, nameOfSource: resolving.upstreams.name)
            }
        }
    }

    static func evidence(_ reports: [EvidenceReport], wantsJSON: Bool) -> AnyIterator<String> {
        pages(Listing<EvidenceReport>(wantsJSON: wantsJSON), nextEntries: slices(reports, of: maxReports))
    }

    /// The names come from the cache, and then from the verification table, because throttled addresses are in no
    /// entry.
    static func whois(
        _ address: Address, _ cache: AnswerCache, _ resolving: ResolvingLoop, wantsJSON: Bool, now: Instant
    ) -> AnyIterator<String> {
        let next = entries(of: cache, QuestionScope(.root, includesDescendants: true, type: address.recordType))
        var nextNames: (() -> [Name]?)?
        return pages(Listing(of: address, wantsJSON: wantsJSON)) {
            if let entries = next() {
                return entries.filter { $0.leads(to: address) }.map { WhoisEntry($0, now: now) }
            }
            let names = nextNames ?? slices(resolving.resolver.judgedNames, of: maxNames)
            nextNames = names
            return names()?.flatMap(resolving.resolver.judged).filter { $0.target.address == address }.map { judged in
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
