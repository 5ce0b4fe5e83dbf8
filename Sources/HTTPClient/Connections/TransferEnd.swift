// How transfers end: on their connection, and for their pool.

/// How a session has ended a transfer.
enum TransferEnd: Equatable {
    case complete
    /// The server has not processed the request; it can be sent again (RFC 9113 section 8.7).
    case refused
    /// The request was refused, but the connection still carries an earlier one.
    case leftOver
    /// The server wants this request over HTTP/1.1.
    case wantsHTTP1
    case failed(TransferFailure)
}

/// The transfers of a pool that have ended and still wait for its next step. All of its connections add to one list.
final class EndedTransfers {
    private(set) var transfers: [Transfer] = []

    func add(_ transfer: Transfer, _ result: Result<TransferReply, TransferFailure>) {
        transfer.result = result
        transfers.append(transfer)
    }

    func clear() { transfers.removeAll(keepingCapacity: true) }
}
