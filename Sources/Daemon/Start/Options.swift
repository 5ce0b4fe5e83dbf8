// The command line of httpdnsd, parsed once.

import DNSWire
import LinuxIO

package struct Options: Equatable {
    package enum Mode: Equatable {
        case serve
        case check
        case printEffective
        case version
        case help
    }

    package private(set) var mode = Mode.serve
    package private(set) var configFile: String?
    private(set) var listen: [SocketAddress] = []

    /// One line that names the invalid argument and the remedy.
    package struct UsageError: Error, Equatable {
        package let text: String
    }

    /// - Parameter arguments: without the program name.
    package init(_ arguments: [String]) throws(UsageError) {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "--config": configFile = try Options.value(of: argument, &rest)
            case "--listen":
                let text = try Options.value(of: argument, &rest)
                guard let address = SocketAddress(withZone: text) else {
                    throw UsageError(text: "--listen \(text): not ADDRESS:PORT, such as 127.0.0.1:5300 or [::1]:53")
                }
                listen.append(address)
            case "--check": mode = .check
            case "--print-effective": mode = .printEffective
            case "--version": mode = .version
            case "--help", "-h": mode = .help
            default: throw UsageError(text: "unknown argument \(argument); see --help")
            }
        }
    }

    private static func value(of option: String, _ rest: inout ArraySlice<String>) throws(UsageError) -> String {
        guard let value = rest.popFirst() else { throw UsageError(text: "\(option) needs a value; see --help") }
        return value
    }

    package static let help = """
        httpdnsd [--config FILE] [--listen ADDR:PORT]... [--check] [--print-effective] [--version] [--help]

          --config FILE       settings (default /etc/httpdnsd/httpdnsd.toml; built-in defaults if that does not exist)
          --listen ADDR:PORT  listen here, in place of the settings' server.listen; may be repeated
          --check             read the settings, say what is wrong with them, and end
          --print-effective   print the settings in force, defaults included, and end
          --version           print the version and end

        Signals: SIGHUP reads the settings again and keeps the cache, SIGTERM and SIGINT end the daemon.
        Exit codes: 0 ok, 1 refused or failed, 3 usage.

        """
}
