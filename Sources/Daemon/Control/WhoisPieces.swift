// Paged listing of the names with an address in their answers. Pages come from bounded parts of the cache, and then
// from the verification table, because throttled addresses are in no entry.

import AnswerCache
import Control
import DNSWire
import LinuxIO
import Resolver

struct WhoisPieces: IteratorProtocol {
    /// As in a listing of the cache: a page may delay an answer by a tenth of a millisecond at most.
    private static let maxEntries = 32
    private static let maxNames = 8

    private enum Place {
        case cache(AnswerCache.Cursor)
        case judged(ArraySlice<Name>)
        case ended
    }

    private let cache: AnswerCache
    private let resolving: ResolvingLoop
    private var listing: WhoisListing
    private let scope: QuestionScope
    private let now: Instant
    private var place = Place.cache(AnswerCache.Cursor())

    /// - Parameter now: reference time of ages, however long the listing takes.
    init(of cache: AnswerCache, _ resolving: ResolvingLoop, _ listing: WhoisListing, now: Instant) {
        self.cache = cache
        self.resolving = resolving
        self.listing = listing
        self.now = now
        scope = QuestionScope(.root, includesDescendants: true, type: listing.address.recordType)
    }

    mutating func next() -> String? {
        let entries: [WhoisEntry]
        switch place {
        case .ended: return nil
        case .cache(let cursor):
            let step = cache.walk(from: cursor, scope, maxEntries: WhoisPieces.maxEntries)
            place = step.next.map(Place.cache) ?? .judged(resolving.judgedNames[...])
            entries = step.entries.filter { $0.leads(to: listing.address) }.map(entry)
        case .judged(let names):
            entries = names.prefix(WhoisPieces.maxNames).flatMap(resolving.judged)
                .filter { $0.target.address == listing.address }.map(entry)
            let rest = names.dropFirst(WhoisPieces.maxNames)
            place = rest.isEmpty ? .ended : .judged(rest)
        }
        let piece = listing.piece(of: entries)
        if listing.isFull { place = .ended }
        guard case .ended = place else { return piece }
        return piece + listing.end()
    }

    private func entry(_ entry: CachedEntry) -> WhoisEntry {
        let report = CacheEntryReport(
            entry, withRecords: false, nowMilliseconds: Clock.millisecondsSinceBoot(now))
        return WhoisEntry(
            name: report.name, type: report.type, state: report.state.rawValue, provenance: report.provenance,
            ageSeconds: report.ageSeconds)
    }

    private func entry(_ judged: JudgedAddress) -> WhoisEntry {
        let report = AddressReport(judged, now: now, nameOfSource: resolving.name)
        let sources = report.sources ?? []
        return WhoisEntry(
            name: report.name, type: listing.address.recordType.description,
            state: judged.place.rawValue, provenance: sources.isEmpty ? "-" : sources.joined(separator: ","),
            ageSeconds: report.ageSeconds)
    }
}

extension CachedEntry {
    fileprivate func leads(to address: Address) -> Bool { records.contains { $0.address == address } }
}
