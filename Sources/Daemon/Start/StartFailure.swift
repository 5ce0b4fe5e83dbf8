// Reason for a failed start, as text for the operator.

import DNSWire
import LinuxIO

struct StartFailure: Error {
    let text: String

    init(_ text: String) { self.text = text }

    /// - Parameter lines: the reasons, one per line.
    init(lines: [String]) { text = lines.joined(separator: "\n") }

    init(_ error: any Error) {
        switch error {
        case let failure as PortBinding.Failure: text = failure.description
        case let failure as StartFailure: text = failure.text
        default: text = "\(error)"
        }
    }

    init(network error: SystemError) {
        text = "the network can't be watched: \(error); [network] watch = false turns watching off"
    }

    init(metrics address: SocketAddress, _ error: SystemError) {
        let place = "control.metrics-listen \(address)"
        let remedy = "set it to another address (\"\" for none)"
        switch error {
        case let error where error.isAddressInUse:
            let holder = PortHolder.describe(address, .tcp)
            let who = holder.map { "held by \($0)" } ?? "held by a process that only root can name"
            text = "\(place): the port is in use, \(who); stop it, or \(remedy)"
        case let error where error.isPermissionDenied:
            text = "\(place): not permitted; ports under 1024 need root or CAP_NET_BIND_SERVICE; \(remedy)"
        case let error where error.isAddressUnavailable:
            text = "\(place): no such address here (\(error)); \(remedy)"
        default: text = "\(place): \(error); \(remedy)"
        }
    }

    /// Failure of the HTTP server after its port was bound.
    init(pages error: any Error) {
        let finding = (error as? SystemError)?.description ?? "libmicrohttpd does not start"
        text = "control.metrics-listen: \(finding); set it to \"\" for none"
    }

    init(control path: String, _ error: SystemError) {
        let user = "user \(Machine.user.userID)"
        let elsewhere = "set control.socket to another path (\"\" for none)"
        let remedy =
            switch error {
            case let error where error.isNoSuchFile: "create its directory for \(user), or \(elsewhere)"
            case let error where error.isPermissionDenied: "allow \(user) to write to its directory, or \(elsewhere)"
            default: elsewhere
            }
        text =
            error.isAddressInUse
            ? "control socket \(path): another httpdnsd answers there; stop it, or \(remedy)"
            : "control socket \(path): \(error); \(remedy)"
    }
}
