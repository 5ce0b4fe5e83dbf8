// Iterates over cache entries as a paged answer: each page reads a bounded part of the cache after the previous page
// has been sent. Ages are relative to the time of the request.

import AnswerCache
import Control
import DNSWire
import HTTPDNS

struct CachePieces: IteratorProtocol {
    /// One page takes about 0.1 ms, which is the longest delay that a listing adds to other answers.
    private static let maxEntries = 32

    private let cache: AnswerCache
    private var listing: CacheListing
    private let nowMilliseconds: Int64
    private var cursor: AnswerCache.Cursor? = AnswerCache.Cursor()

    init(of cache: AnswerCache, _ listing: CacheListing, nowMilliseconds: Int64) {
        self.cache = cache
        self.listing = listing
        self.nowMilliseconds = nowMilliseconds
    }

    mutating func next() -> String? {
        guard let here = cursor else { return nil }
        let step = cache.walk(from: here, listing.scope, maxEntries: CachePieces.maxEntries)
        cursor = step.next
        let piece = listing.piece(
            of: step.entries.map { entry in
                CacheEntryReport(entry, withRecords: listing.view != .list, nowMilliseconds: nowMilliseconds)
            })
        return step.next == nil ? piece + listing.end() : piece
    }
}

extension CacheEntryReport {
    init(_ entry: CachedEntry, withRecords: Bool, nowMilliseconds: Int64) {
        let ageMilliseconds = max(0, nowMilliseconds - entry.storedAtMilliseconds)
        let leftMilliseconds = Int64(entry.lifetimeSeconds) * 1000 - ageMilliseconds
        self.init(
            name: entry.question.name.description, type: entry.question.type.description,
            rcode: entry.answer.responseCode.description)
        state = leftMilliseconds > 0 ? .fresh : .expired
        ageSeconds = Int(ageMilliseconds / 1000)
        lifetimeSeconds = Int(entry.lifetimeSeconds)
        ttlSeconds = lifetimeSeconds - ageSeconds
        provenance = "\(entry.provenance)"
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
