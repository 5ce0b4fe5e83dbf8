// Records what libcurl's callbacks request during a call: descriptors to watch and the next timer. Only the callbacks
// write it; the set reads it after the call. The ledger closes descriptors after the loop stops watching them. libcurl
// itself silently closes sockets that never connected (7.88, cf-socket.c). Such a descriptor may be reused before the
// loop stops watching it, and by another thread before the ledger looks.

import CCurl

final class SocketLedger {
    enum Timer {
        case unchanged, off
        case after(milliseconds: Int)
    }

    /// Time without acknowledgements after which a connection is closed: as long as a provider's reply is worth waiting
    /// for. The next request then uses a new connection.
    static let silenceMilliseconds: UInt32 = 3000

    private(set) var openedSockets = 0
    /// The open sockets by descriptor, each with the kernel's number of it.
    private var sockets: [Int32: UInt64] = [:]
    private var interests: [Int32: SocketInterest] = [:]
    private var told: [Int32: SocketInterest] = [:]
    private var changed: [Int32] = []
    /// Descriptors that the loop watches for a closed socket and that now belong to a new socket.
    private var replaced: [Int32] = []
    private var closing: [Int32] = []
    private var timer = Timer.unchanged

    deinit {
        for descriptor in closing { close(descriptor) }
    }

    var openSockets: Int { sockets.count }

    /// Returns the progress of the connection from this local port; nil if there is none.
    func progress(from port: Int) -> ConnectionProgress? {
        guard port > 0, let descriptor = sockets.keys.first(where: { ccurl_local_port($0) == port }) else { return nil }
        return ConnectionProgress(descriptor)
    }

    var connections: [ConnectionProgress] { sockets.keys.compactMap { ConnectionProgress($0) } }

    func isWatching(_ descriptor: Int32) -> Bool { told[descriptor] != nil }

    /// Reports the changes since the last call, in their order.
    func deliver(to interest: (_ descriptor: Int32, _ wants: SocketInterest) -> Void) {
        for descriptor in replaced {
            told[descriptor] = nil
            interest(descriptor, .none)
        }
        replaced.removeAll(keepingCapacity: true)
        for descriptor in changed {
            let wants = interests[descriptor]
            guard wants != told[descriptor] else { continue }
            told[descriptor] = wants
            interest(descriptor, wants ?? .none)
        }
        for descriptor in closing { close(descriptor) }
        closing.removeAll(keepingCapacity: true)
        for descriptor in changed where interests[descriptor] == nil {
            if sockets[descriptor] != ccurl_socket_cookie(descriptor) { sockets[descriptor] = nil }
        }
        changed.removeAll(keepingCapacity: true)
    }

    /// Forgets all sockets. Call it after the multi handle and its connections are freed.
    func forgetSockets() {
        sockets = [:]
    }

    func takeTimer() -> Timer { exchange(&timer, with: .unchanged) }

    func watchSockets(of easy: UnsafeMutableRawPointer) -> CURLcode {
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        return unsafe ccurl_set_socket_functions(
            easy,
            { context, _, address in
                guard let address = unsafe address else { return -1 }
                let descriptor = unsafe ccurl_open_socket(address, SocketLedger.silenceMilliseconds)
                unsafe SocketLedger.at(context)?.record(opened: descriptor)
                return descriptor
            },
            { context, descriptor in
                unsafe SocketLedger.at(context)?.record(closing: descriptor)
                return 0
            }, context)
    }

    func watch(_ multi: UnsafeMutableRawPointer) -> CURLMcode {
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        return unsafe ccurl_multi_set_functions(
            multi,
            { _, descriptor, what, context, _ in
                unsafe SocketLedger.at(context)?.record(descriptor, wants: SocketInterest(what))
                return 0
            },
            { _, milliseconds, context in
                unsafe SocketLedger.at(context)?.timer = milliseconds < 0 ? .off : .after(milliseconds: milliseconds)
                return 0
            }, context)
    }

    private static func at(_ context: UnsafeMutableRawPointer?) -> SocketLedger? {
        unsafe context.map { unsafe Unmanaged<SocketLedger>.fromOpaque($0).takeUnretainedValue() }
    }

    func record(_ descriptor: Int32, wants: SocketInterest) {
        interests[descriptor] = wants == .none ? nil : wants
        changed.append(descriptor)
    }

    func record(opened descriptor: Int32) {
        guard descriptor >= 0 else { return }
        openedSockets += 1
        sockets[descriptor] = ccurl_socket_cookie(descriptor)
        if told[descriptor] != nil { replaced.append(descriptor) }
    }

    func record(closing descriptor: Int32) {
        sockets[descriptor] = nil
        record(descriptor, wants: .none)
        closing.append(descriptor)
    }
}

extension SocketInterest {
    fileprivate init(_ what: Int32) {
        switch what {
        case CURL_POLL_IN: self = .read
        case CURL_POLL_OUT: self = .write
        case CURL_POLL_INOUT: self = .both
        default: self = .none
        }
    }
}
