// The command line of httpdnsd, parsed once.

import Control
import DNSWire
import LinuxIO
import Settings

package struct Options: Equatable {
    package enum Mode: Equatable {
        case serve
        case check
        case printEffective
        case printSchema
        case version
        case help
    }

    package private(set) var mode = Mode.serve
    package private(set) var configFile: String?
    private(set) var listen: [SocketAddress] = []
    /// Set only with `check`: what the settings mean for this question.
    private(set) var explained: Question?

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
            case "--explain":
                guard explained == nil else { throw UsageError(text: "--explain is given twice; it takes one name") }
                explained = try Options.question(&rest)
            case "--print-effective": mode = .printEffective
            case "--print-schema": mode = .printSchema
            case "--version": mode = .version
            case "--help", "-h": mode = .help
            default: throw UsageError(text: "unknown argument \(argument); see --help")
            }
        }
        guard explained == nil || [.check, .help].contains(mode) else {
            throw UsageError(
                text: "--explain needs --check: write --check --explain NAME; httpdnsctl explain NAME asks the daemon")
        }
    }

    /// Returns the addresses of the command line, or the settings' `server.listen` if the command line has none.
    func listenPlaces(_ settings: Settings) -> [ListenPlace] {
        listen.isEmpty ? settings.server.listen : listen.map { .address($0) }
    }

    /// Takes NAME [TYPE], as `httpdnsctl explain` does.
    private static func question(_ rest: inout ArraySlice<String>) throws(UsageError) -> Question {
        func word() -> String? { rest.first?.hasPrefix("-") == false ? rest.popFirst() : nil }
        guard let name = word(), !name.isEmpty else {
            throw UsageError(text: "--explain needs a name: write --check --explain NAME [TYPE]")
        }
        do throws(Refusal) {
            return try Request.question(name, word())
        } catch {
            throw UsageError(text: "--explain: \(error.reason)")
        }
    }

    private static func value(of option: String, _ rest: inout ArraySlice<String>) throws(UsageError) -> String {
        guard let value = rest.popFirst() else { throw UsageError(text: "\(option) needs a value; see --help") }
        return value
    }

    package static let help = """
        httpdnsd [--config FILE] [--listen ADDR:PORT]... [--check [--explain NAME [TYPE]]] [--print-effective]
                 [--print-schema] [--version] [--help]

          --config FILE       settings (default /etc/httpdnsd/httpdnsd.toml; built-in defaults if that does not exist)
          --listen ADDR:PORT  listen here, in place of the settings' server.listen; may be repeated
          --check             read the settings, say what is wrong with them, and end
          --explain NAME [TYPE]
                              with --check: say how a query for the name would be answered after a start; TYPE is A
                              if it is left out
          --print-effective   print the settings in force, defaults included, and end
          --print-schema      print the JSON Schema of the settings and end
          --version           print the version and end

        Signals: SIGHUP reads the settings again and keeps the cache, SIGTERM and SIGINT end the daemon.
        Exit codes: 0 ok, 1 refused or failed, 3 usage.

        """
}
