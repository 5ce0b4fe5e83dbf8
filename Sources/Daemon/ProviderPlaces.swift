// Places (concurrent requests) of providers: starts and ends requests as `RequestShares` decides.

import DNSWire
import HTTPClient
import Resolver

extension ProviderFetches {
    /// A request that waits for a place.
    struct Waiting {
        let provider: ProviderID
        /// Fetches that are still wanted.
        var fetches: [FetchBatches.Fetch]
        let questions: [Question]
        let isRepeated: Bool
    }

    /// Abandons a fetch. Its request ends with the last fetch that wants it.
    func abandon(_ id: FetchID, now: Instant) {
        guard let transfer = transferOfFetch.removeValue(forKey: id) else {
            batches.remove(id)
            leaveQueue(id, now: now)
            return
        }
        running[transfer]?.wantedCount -= 1
        guard let request = running[transfer] else { return }
        // The resolver abandons a fetch at its time-out; an earlier abandon means that another answer won.
        let isLate = request.fetches[0].startedAt.duration(to: now) >= Bounds.providerTimeout
        guard request.wantedCount == 0 else {
            if !isLate { overtaken(id, in: request) }
            return
        }
        http.cancel(transfer, hasTimedOut: isLate, now: now)
        release(transfer, isLate ? .timedOut : .other, now: now)
        if isLate {
            failed(request, at: request.endpoint, .timeout, "time-out", isAddress: true, now: now)
        }
    }

    private func overtaken(_ id: FetchID, in request: Running) {
        guard let domain = request.fetches.first(where: { $0.id == id })?.holder?.domain else { return }
        let isWanted = request.fetches.contains { $0.holder?.domain == domain && transferOfFetch[$0.id] != nil }
        if !isWanted { shares.leave(request.id, domain) }
    }

    /// Returns how many requests the provider's connections carry at once.
    func places(at provider: Provider) -> Int {
        provider.endpoints.map { http.parallelRequests(to: passage.way(to: $0) ?? $0) }.max() ?? 1
    }

    /// Starts and ends requests as `shares` decides.
    func takePlaces(now: Instant) {
        hasFreePlace = false
        while let step = shares.next(now: now) {
            switch step {
            case .start(let id):
                guard let request = waiting.removeValue(forKey: id) else { continue }
                for fetch in request.fetches { requestOfFetch[fetch.id] = nil }
                begin(id, request, now: now)
            case .displace(let id):
                guard let transfer = transferOfRequest[id], let request = forget(transfer) else { continue }
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

    /// Removes the request and frees its place. `takePlaces` must follow before the loop sleeps.
    @discardableResult
    func release(_ transfer: TransferID, _ end: RequestShares.End, now: Instant) -> Running? {
        guard let request = forget(transfer) else { return nil }
        shares.end(request.id, end, now: now)
        hasFreePlace = true
        return request
    }

    /// Registers a request as in flight.
    func note(_ request: Running, as transfer: TransferID) {
        running[transfer] = request
        transferOfRequest[request.id] = transfer
        for fetch in request.fetches {
            transferOfFetch[fetch.id] = transfer
            if request.isShared { questionsTogether[fetch.question, default: 0] += 1 }
        }
    }

    private func forget(_ transfer: TransferID) -> Running? {
        guard let request = running.removeValue(forKey: transfer) else { return nil }
        transferOfRequest[request.id] = nil
        guard request.isShared else { return request }
        for fetch in request.fetches {
            let left = (questionsTogether[fetch.question] ?? 0) - 1
            questionsTogether[fetch.question] = left > 0 ? left : nil
        }
        return request
    }
}
