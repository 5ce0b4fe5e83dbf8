// The places that requests to providers take: begins and ends requests as their shares say.

import DNSWire
import HTTPClient
import Resolver

extension ProviderFetches {
    /// A request that has no place yet.
    struct Waiting {
        let provider: ProviderID
        /// Those that are still wanted.
        var fetches: [FetchBatches.Fetch]
        let questions: [Question]
        let isRepeated: Bool
    }

    /// How many requests the provider's connections carry at once.
    func places(at provider: Provider) -> Int {
        provider.endpoints.map { http.parallelRequests(to: passage.way(to: $0) ?? $0) }.max() ?? 1
    }

    /// Begins and ends requests as the shares say.
    func takePlaces(now: Instant) {
        while let step = shares.next(now: now) {
            switch step {
            case .start(let id):
                guard let request = waiting.removeValue(forKey: id) else { continue }
                for fetch in request.fetches { requestOfFetch[fetch.id] = nil }
                begin(id, request, now: now)
            case .displace(let id):
                guard let transfer = transferOfRequest.removeValue(forKey: id) else { continue }
                guard let request = running.removeValue(forKey: transfer) else { continue }
                http.cancel(transfer, now: now)
                fail(request.fetches.filter { transferOfFetch.removeValue(forKey: $0.id) != nil }, .overload)
            case .expire(let id):
                guard let request = waiting.removeValue(forKey: id) else { continue }
                for fetch in request.fetches { requestOfFetch[fetch.id] = nil }
                fail(request.fetches, .overload)
            }
        }
    }

    func leaveQueue(_ fetch: FetchID, now: Instant) {
        guard let id = requestOfFetch.removeValue(forKey: fetch) else { return }
        waiting[id]?.fetches.removeAll { $0.id == fetch }
        guard waiting[id]?.fetches.isEmpty == true else { return }
        waiting[id] = nil
        shares.end(id, .other, now: now)
    }

    /// Its place is free; `takePlaces` has to follow.
    @discardableResult
    func release(_ transfer: TransferID, _ end: RequestShares.End, now: Instant) -> Running? {
        guard let request = running.removeValue(forKey: transfer) else { return nil }
        transferOfRequest[request.id] = nil
        shares.end(request.id, end, now: now)
        return request
    }
}
