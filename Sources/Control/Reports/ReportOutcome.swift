// The result of `report`: a program reported that an address failed, and the daemon has probed the address.

package struct ReportOutcome: Report, Codable, Equatable {
    /// The name without the final dot.
    package var name: String
    package var address: String
    /// The results, one per probed port.
    package var found: [AddressReport]
    /// Whether the probe confirms the failure; nil if it is inconclusive.
    package var agrees: Bool?
    /// Whether answers still contain the address.
    package var isHandedOut: Bool
    /// The reason for the address's rank.
    package var reason: String

    package init(
        name: String, address: String, found: [AddressReport], agrees: Bool?, isHandedOut: Bool, reason: String
    ) {
        self.name = name
        self.address = address
        self.found = found
        self.agrees = agrees
        self.isHandedOut = isHandedOut
        self.reason = reason
    }

    package enum CodingKeys: String, CodingKey {
        case name, address, found, agrees, reason
        case isHandedOut = "handed_out"
    }
}

extension ReportOutcome {
    /// The outcome as text: "probe agrees: refused; 192.0.2.1 was removed from answers".
    package var text: String {
        let opinion =
            switch agrees {
            case true?: "agrees"
            case false?: "disagrees"
            case nil: "is inconclusive"
            }
        let verdicts = found.map { address in
            let port = found.count > 1 ? address.port.map { "port \($0) " } ?? "" : ""
            return "\(port)\(address.verdict ?? "-")" + (address.detail.map { " (\($0))" } ?? "")
        }
        return "probe \(opinion): \(verdicts.joined(separator: ", ")); \(consequence)\n"
    }

    private var consequence: String {
        switch (isHandedOut, agrees) {
        case (false, true?): "\(address) was removed from answers"
        case (false, _): "\(address) is not in answers (\(reason))"
        case (true, false?): "\(address) stays in answers"
        case (true, _): "\(address) stays in answers (\(reason))"
        }
    }
}
