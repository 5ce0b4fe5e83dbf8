// Paged listing of address verdicts. Each page covers a bounded number of names and is built when the previous one
// has been sent.

import Control
import DNSWire
import LinuxIO
import Resolver

struct VerdictPieces: IteratorProtocol {
    /// Names per page; each has a few addresses.
    private static let maxNames = 8

    private let resolving: ResolvingLoop
    private var listing: VerdictListing
    private let now: Instant
    /// Nil after the end.
    private var names: ArraySlice<Name>?

    /// - Parameter now: reference time of ages, however long the listing takes.
    init(of resolving: ResolvingLoop, _ listing: VerdictListing, now: Instant) {
        self.resolving = resolving
        self.listing = listing
        self.now = now
        names = listing.name.map { [$0] } ?? resolving.judgedNames[...]
    }

    mutating func next() -> String? {
        guard let left = names else { return nil }
        let addresses = left.prefix(VerdictPieces.maxNames).flatMap(resolving.judged)
        let piece = listing.piece(
            of: addresses.map { AddressReport($0, now: now, nameOfSource: resolving.name) })
        let rest = left.dropFirst(VerdictPieces.maxNames)
        names = rest.isEmpty ? nil : rest
        return rest.isEmpty ? piece + listing.end() : piece
    }
}

struct EvidencePieces: IteratorProtocol {
    /// Reports per page, up to 2 KiB each.
    private static let maxReports = 8

    private var listing: EvidenceListing
    /// Nil after the end.
    private var reports: ArraySlice<EvidenceReport>?

    init(of reports: [EvidenceReport], _ listing: EvidenceListing) {
        self.reports = reports[...]
        self.listing = listing
    }

    mutating func next() -> String? {
        guard let left = reports else { return nil }
        let piece = listing.piece(of: Array(left.prefix(EvidencePieces.maxReports)))
        let rest = left.dropFirst(EvidencePieces.maxReports)
        reports = rest.isEmpty ? nil : rest
        return rest.isEmpty ? piece + listing.end() : piece
    }
}
