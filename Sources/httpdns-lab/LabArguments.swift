// The parsed command line of the lab. Endpoints are numeric addresses with ports; no names are resolved.

package import DNSWire

package struct LabArguments: Equatable, Sendable {
    package var zone = ""
    /// The endpoints. With port 0, the kernel chooses a port, and the lab prints it.
    package var http: SocketAddress?
    package var https: SocketAddress?
    package var control: SocketAddress?
    package var certificate: String?
    package var key: String?

    package init() {}

    package enum Outcome: Equatable, Sendable {
        case run(LabArguments)
        case help
        case version
    }

    package struct UsageError: Error, Equatable, Sendable {
        package let finding: String
        package let hint: String
    }

    package static let usage = """
        usage: httpdns-lab --zone FILE [--http ADDR:PORT] [--https ADDR:PORT --cert FILE --key FILE]
                           [--control ADDR:PORT]

        A stand-in HTTPDNS provider that answers from a zone file:
          /d          DNSPod's plain text     /resolve, /dns-query  JSON and RFC 8484
          /p/NAME/... the same as provider NAME, with its own faults and counts
        Control: GET /requests, /faults; POST /fault?provider=&name=&kind=&value=,
          /record?name=&type=&data=&ttl=, /reset. Port 0 lets the system choose; what it
          chose is printed.

        """

    package static func parse(_ arguments: [String]) throws(UsageError) -> Outcome {
        var parsed = LabArguments()
        var rest = arguments[...]
        while let option = rest.popFirst() {
            if option == "--help" { return .help }
            if option == "--version" { return .version }
            guard ["--zone", "--http", "--https", "--control", "--cert", "--key"].contains(option) else {
                throw UsageError(finding: "unknown option \(option)", hint: "see httpdns-lab --help")
            }
            guard let value = rest.popFirst() else {
                throw UsageError(finding: "\(option) needs a value", hint: "see httpdns-lab --help")
            }
            switch option {
            case "--zone": parsed.zone = value
            case "--cert": parsed.certificate = value
            case "--key": parsed.key = value
            case "--http": parsed.http = try endpoint(option, value)
            case "--https": parsed.https = try endpoint(option, value)
            default: parsed.control = try endpoint(option, value)
            }
        }
        try parsed.requireConsistency()
        return .run(parsed)
    }

    private func requireConsistency() throws(UsageError) {
        guard !zone.isEmpty else {
            throw UsageError(finding: "no zone", hint: "try --zone etc/lab.zone --http 127.0.0.1:8053")
        }
        guard http != nil || https != nil else {
            throw UsageError(finding: "nothing to listen on", hint: "try --http 127.0.0.1:8053")
        }
        guard https == nil || (certificate != nil && key != nil) else {
            throw UsageError(finding: "--https without a certificate", hint: "add --cert FILE and --key FILE, in PEM")
        }
    }

    private static func endpoint(_ option: String, _ text: String) throws(UsageError) -> SocketAddress {
        guard let endpoint = SocketAddress(text) else {
            throw UsageError(finding: "\(option) \(text) is no address with a port", hint: "write it as 127.0.0.1:8053")
        }
        return endpoint
    }
}
