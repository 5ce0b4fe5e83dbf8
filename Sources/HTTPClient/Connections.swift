// The common interface of libcurl's connections and those over HTTP/2.

import DNSWire

/// The transfers of a pool that have ended and still wait for its next step. All of its connections add to one list.
final class EndedTransfers {
    private(set) var transfers: [Transfer] = []

    func add(_ transfer: Transfer, _ result: Result<TransferReply, TransferFailure>) {
        transfer.result = result
        transfers.append(transfer)
    }

    func clear() { transfers.removeAll(keepingCapacity: true) }
}

/// Connections of one kind. Each transfer ends exactly once in the pool's `EndedTransfers`, unless it is cancelled.
protocol Connections: AnyObject {
    /// True if no transfer runs.
    var isIdle: Bool { get }
    var openSockets: Int { get }
    var openedSockets: Int { get }
    /// The progress of the connected sockets.
    var progresses: [ConnectionProgress] { get }
    /// Returns the progress of the connection from this local port; nil if there is none.
    func progress(from port: Int) -> ConnectionProgress?
    func isWatching(_ descriptor: Int32) -> Bool
    func start(_ transfer: Transfer, now: Instant) throws(TransferFailure)
    /// Cancels a transfer. Ignores a transfer that is not here.
    func cancel(_ transfer: Transfer, now: Instant)
    func socketReady(_ descriptor: Int32, readable: Bool, writable: Bool, failed: Bool, now: Instant)
    func timePassed(now: Instant)
    /// Ends every transfer without a result and closes every connection. Nothing can be started afterwards.
    func close()
}
