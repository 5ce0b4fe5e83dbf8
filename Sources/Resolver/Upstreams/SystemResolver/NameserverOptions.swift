// The options of resolv.conf(5) that concern how its nameservers are asked. The other options concern programs only.

package import DNSWire

package struct NameserverOptions: Equatable, Sendable {
    /// "rotate": each question starts at the next server.
    package private(set) var rotates = false
    /// "use-vc": queries are sent over TCP only.
    package private(set) var usesStreams = false
    /// Options that are not followed, each with the reason.
    package private(set) var unheeded: [String] = []
    private var timeoutSeconds: Int?
    private var attempts: Int?

    /// RES_MAXRETRY and RES_MAXRETRANS of glibc.
    private static let maxAttempts = 5
    private static let maxTimeoutSeconds = 30

    package init() {}

    /// Follows the words of all "options" lines in their order; the last word of the same kind counts, as for glibc.
    init(_ words: some Sequence<String>) {
        for word in words {
            let parts = word.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            switch parts[0] {
            case "rotate": rotates = true
            case "use-vc": usesStreams = true
            case "timeout" where parts.count == 2:
                timeoutSeconds = min(NameserverOptions.number(parts[1]), NameserverOptions.maxTimeoutSeconds)
            case "attempts" where parts.count == 2:
                attempts = min(NameserverOptions.number(parts[1]), NameserverOptions.maxAttempts)
            default: continue
            }
        }
        note()
    }

    /// How often each server is asked.
    package var rounds: Int { attempts.map { max(1, $0) } ?? Bounds.nameserverPatience.count }

    /// Wait for a server before the next is asked as well.
    package func patience(round: Int = 0, overStream isStream: Bool) -> Duration {
        let wait = Bounds.nameserverPatience[min(round, Bounds.nameserverPatience.count - 1)]
        let usual = isStream ? max(wait, Bounds.nameserverStreamPatience) : wait
        return timeoutSeconds.map { min(usual, .seconds(max(1, $0))) } ?? usual
    }

    /// Reads leading digits, as glibc does; 0 if there are none.
    private static func number(_ text: Substring) -> Int {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        return digits.isEmpty ? 0 : Int(digits) ?? .max
    }

    private mutating func note() {
        let longest = Bounds.nameserverPatience.map(\.wholeSeconds).max() ?? 0
        if let timeoutSeconds, timeoutSeconds > longest {
            unheeded.append("timeout:\(timeoutSeconds) (another server is asked after at most \(longest) s)")
        }
        if let attempts, attempts < 1 {
            unheeded.append("attempts:\(attempts) (each server is asked once at least)")
        }
        let start = (0..<rounds).dropLast().reduce(Duration.zero) { $0 + patience(round: $1, overStream: false) }
        if let attempts, start >= Bounds.nameserverTimeout {
            unheeded.append("attempts:\(attempts) (a lookup ends after \(Bounds.nameserverTimeout.wholeSeconds) s)")
        }
    }
}
