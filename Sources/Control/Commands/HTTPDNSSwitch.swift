// The arguments of `httpdns`: disables or enables the providers, for all names or one subtree, with or without a time
// limit.

package import DNSWire

package enum HTTPDNSSwitch: Equatable, Sendable {
    /// A name includes its subdomains, and is never the root; nil means all names. Nil seconds mean until `on`.
    case off(Name?, seconds: Int?)
    case on(Name?)

    enum Verb: String {
        case off, on
    }

    /// The bounds of the time: at most 30 days; a longer pause belongs in the settings.
    static let seconds = 1...30 * 86_400

    /// Parses "30s", "10m", "2h" or "1d". Nil for any other text, and for a value out of range.
    static func seconds(_ text: String) -> Int? {
        guard let unit = units.first(where: { text.hasSuffix($0.name) }) else { return nil }
        let digits = text.utf8.dropLast(unit.name.utf8.count)
        guard digits.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains), let count = Int(Substring(digits))
        else { return nil }
        let product = count.multipliedReportingOverflow(by: unit.seconds)
        return !product.overflow && seconds.contains(product.partialValue) ? product.partialValue : nil
    }

    private static let units = [("s", 1), ("m", 60), ("h", 3_600), ("d", 86_400)].map { (name: $0.0, seconds: $0.1) }
}
