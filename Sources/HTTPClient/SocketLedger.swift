// What libcurl's callbacks said during a call: which descriptors it wants watched and when it wants to be called.
// Written only by those callbacks, read when the call is over. Descriptors are closed here, after the loop has
// forgotten them, so that a number is never watched for a connection that is gone.

internal import CCurl

package enum SocketInterest: Sendable {
    /// Forget the descriptor; it may be closed right after.
    case none
    case read, write, both
}

final class SocketLedger {
    enum Timer {
        case unchanged, off
        case after(milliseconds: Int)
    }

    private(set) var openedSockets = 0
    private(set) var closedSockets = 0
    private var wanted: [Int32: SocketInterest] = [:]
    private var told: [Int32: SocketInterest] = [:]
    private var changed: [Int32] = []
    private var closing: [Int32] = []
    private var timer = Timer.unchanged

    deinit {
        for descriptor in closing { close(descriptor) }
    }

    func isWatching(_ descriptor: Int32) -> Bool { told[descriptor] != nil }

    /// Hands over what changed since the last call, in the order in which it did.
    func deliver(to interest: (_ descriptor: Int32, _ wants: SocketInterest) -> Void) {
        for descriptor in changed {
            let wants = wanted[descriptor]
            guard wants != told[descriptor] else { continue }
            told[descriptor] = wants
            interest(descriptor, wants ?? .none)
        }
        changed.removeAll(keepingCapacity: true)
        for descriptor in closing { close(descriptor) }
        closing.removeAll(keepingCapacity: true)
    }

    func takeTimer() -> Timer {
        defer { timer = .unchanged }
        return timer
    }

    func watchSockets(of easy: UnsafeMutableRawPointer) -> CURLcode {
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        return unsafe ccurl_set_socket_functions(
            easy,
            { context, _, address in
                guard let address = unsafe address else { return -1 }
                let descriptor = unsafe ccurl_open_socket(address)
                if descriptor >= 0 { unsafe SocketLedger.at(context)?.openedSockets += 1 }
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

    private func record(_ descriptor: Int32, wants: SocketInterest) {
        wanted[descriptor] = wants == .none ? nil : wants
        changed.append(descriptor)
    }

    private func record(closing descriptor: Int32) {
        closedSockets += 1
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
