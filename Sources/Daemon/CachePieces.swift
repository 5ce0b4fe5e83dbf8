// Entries of the cache as an answer in pieces: each is made from a bounded part of the cache when the one before has
// been sent. Ages are those of the time of the request.

import AnswerCache
import Control
import DNSWire
import HTTPDNS

struct CachePieces: IteratorProtocol {
    /// A piece takes a tenth of a millisecond, so that a listing delays nobody's answer by more.
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
    /// What is in the cache was rendered from records that could be read; what could not is not shown.
    var records: [ResourceRecord] {
        do throws(MalformedMessage) { return try answer.records(of: question) } catch { return [] }
    }
}

extension CacheEntryReport.Record {
    /// Data of types without a text of their own as RFC 3597 section 5 writes it.
    init(_ record: ResourceRecord, ageSeconds: Int) {
        self.init(
            name: record.owner.isRoot ? "." : "\(record.owner).",
            ttlSeconds: max(0, Int(record.ttlSeconds) - ageSeconds),
            type: record.type.description,
            data: PresentationForm.text(of: record) ?? PresentationForm.genericText(of: record.data))
    }
}
