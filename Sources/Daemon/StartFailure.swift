// Why the daemon does not start, in one line for its operator.

import HTTPClient
import LinuxIO

struct StartFailure: Error {
    let text: String

    init(_ error: any Error) {
        switch error {
        case let failure as PortBinding.Failure: text = failure.description
        case let failure as StartFailure: text = failure.text
        case let failure as TransferFailure: text = "libcurl does not start: \(failure.description)"
        default: text = "\(error)"
        }
    }

    init(network error: SystemError) {
        text = "the network can't be watched: \(error); [network] watch = false does without"
    }

    init(control path: String, _ error: SystemError) {
        let remedy =
            error.isNoSuchFile
            ? "make its directory, or set control.socket to another path (\"\" for none)"
            : "set control.socket to another path (\"\" for none)"
        text =
            error.isAddressInUse
            ? "control socket \(path): another httpdnsd answers there; stop it, or \(remedy)"
            : "control socket \(path): \(error); \(remedy)"
    }
}
