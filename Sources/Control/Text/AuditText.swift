// The words of the audit: a table for the day and the week, and for each provider a verdict and the settings to change.

extension AuditReport {
    package var text: String {
        guard !providers.isEmpty else { return "no providers\n" }
        let tables = [("last 24 hours", \AuditedProvider.day), ("last 7 days", \.week)].map { title, window in
            let rows = providers.map { [$0.name] + $0[keyPath: window].columns(price: $0.price) }
            return "\(title)\n" + LineFormat.aligned([AuditReport.titles] + rows).map { "  \($0)\n" }.joined()
        }
        return tables.joined() + "verdicts\n" + providers.flatMap(\.verdictLines).map { "  \($0)\n" }.joined()
    }

    private static let titles = [
        "name", "requests", "forged", "denied", "expired", "late", "failed", "reply", "connect", "others", "price",
    ]

    static func milliseconds(_ time: Double?) -> String { time.map { "\(tenths($0)) ms" } ?? "-" }

    /// Returns the number with one decimal.
    fileprivate static func tenths(_ number: Double) -> String { "\((number * 10).rounded() / 10)" }
}

extension AuditReport.Window {
    fileprivate func columns(price: Double?) -> [String] {
        [LineFormat.grouped(requests)] + shares.map(\.value.columnText)
            + [replyMilliseconds, connectMilliseconds, othersConnectMilliseconds].map(AuditReport.milliseconds)
            + [price.map { "\($0)" } ?? "-"]
    }
}

extension AuditReport.Share {
    /// "10 of 200, 5.0 %".
    fileprivate var columnText: String {
        share.map { "\(LineFormat.grouped(count)) of \(LineFormat.grouped(all)), \(LineFormat.percent($0))" } ?? "-"
    }

    /// "5.0 % of the names compared (10 of 200; 2.7 % to 9.0 % with 95 % confidence)".
    fileprivate func words(of what: String) -> String {
        "\(LineFormat.percent(share ?? 0)) of \(what) (\(count) of \(all); "
            + "\(LineFormat.percent(low)) to \(LineFormat.percent(high)) with 95 % confidence)"
    }
}

extension AuditReport.Finding {
    /// - Parameters:
    ///   - isOpen: everything on the path can change the replies.
    ///   - price: of 1,000 questions.
    func words(isOpen: Bool, price: Double?) -> String {
        let share = { (what: String) in self.share?.words(of: what) ?? "" }
        switch kind {
        case .forges: return "\(isOpen ? "it or its path forges" : "forges") \(share("the names compared"))"
        case .denies: return "\(isOpen ? "it or its path denies" : "denies") \(share("the names that exist"))"
        case .expires: return "gives expired answers for \(share("the names compared"))"
        case .fails: return "it or the path to it fails for \(share("the requests"))"
        case .late: return "late for \(share("the replies"))"
        case .slower: return "slower than the others by \(Int(((amount ?? 0) * 100).rounded())) %"
        case .farther: return "gives farther addresses: \(AuditReport.milliseconds(amount)) more to connect"
        case .dear: return "dear: \(price ?? 0) per 1,000 questions, another costs \(amount ?? 0)"
        }
    }

    /// The settings to change.
    func advice(isOpen: Bool) -> String {
        switch kind {
        case .forges, .denies:
            (isOpen ? "give it a url with https, if the vendor has one; else " : "")
                + "set shadow = 0.1 to watch it without using it, or remove it"
        case .expires: "set shadow = 0.1 to watch it without using it, or remove it"
        case .fails: "no setting: other providers are asked first; see providers test"
        case .late, .slower: "no setting: quicker providers are asked first"
        case .farther: "set client-subnet = \"auto\" if you trust it with your network, or remove it"
        case .dear: "give it names of its own, a quota, or hedge = false"
        }
    }
}

extension AuditedProvider {
    fileprivate var verdictLines: [String] {
        let examples = [("forged", AuditReport.Finding.Kind.forges), ("denied", .denies), ("expired", .expires)]
            .flatMap { word, kind in
                let domains = week.domains?[kind.rawValue] ?? []
                return domains.isEmpty ? [] : ["\(word): \(domains.joined(separator: ", "))"]
            }
        let rest = examples + advice.map { "settings: \($0)" }
        return ["\(name): \(verdict)"] + rest.map { "  \($0)" }
            + (isCompared ? [] : ["  no comparison questions, because of audit, budget, shadow, or its account"])
    }
}
