// The operator's switch that temporarily excludes names, with all their subdomains, from the providers. Uses wall time,
// because it is stored across restarts. Routes no questions.

package import DNSWire

package struct ProviderSwitch: Equatable, Sendable {
    /// The excluded names with their end in milliseconds since 1970; nil: until they are switched on. The root means
    /// all names.
    package private(set) var endOfName: [Name: Int64?] = [:]

    /// Maximum number of names. A full switch refuses further names.
    package static let maxNames = 64
    /// Maximum size of the stored text: the capacity of a note in the store. A longer text would be lost at a restart.
    package static let maxTextBytes = 4_096

    package init() {}

    /// - Returns: false if there is no room for the name.
    package mutating func switchOff(_ name: Name, untilMilliseconds end: Int64?) -> Bool {
        var new = self
        new.endOfName[name] = .some(end)
        guard new.endOfName.count <= ProviderSwitch.maxNames, new.text.utf8.count <= ProviderSwitch.maxTextBytes else {
            return false
        }
        self = new
        return true
    }

    /// Adds the names that were excluded before a restart. Together they may exceed the limits: each is kept, and
    /// further names are refused.
    package mutating func add(_ earlier: ProviderSwitch) {
        endOfName.merge(earlier.endOfName) { own, _ in own }
    }

    /// - Parameter name: the name to switch on; nil: all excluded names.
    /// - Returns: the names that may go to the providers again; empty if none was excluded.
    package mutating func switchOn(_ name: Name?) -> [Name] {
        guard let name else {
            defer { endOfName = [:] }
            return endOfName.keys.sorted()
        }
        return endOfName.removeValue(forKey: name) == nil ? [] : [name]
    }

    /// Removes and returns the names with a past end.
    package mutating func expire(nowMilliseconds: Int64) -> [Name] {
        let over = endOfName.filter { $0.value.map { $0 <= nowMilliseconds } ?? false }.keys.sorted()
        for name in over { endOfName[name] = nil }
        return over
    }

    /// Returns whether the name or an ancestor is excluded and not expired.
    package func isOff(_ name: Name) -> Bool { endOfName.covering(name) { _ in true } != nil }

    /// When `expire` is due.
    package var nextEndMilliseconds: Int64? { endOfName.values.compactMap { $0 }.min() }
}

// The text for the store: a line "NAME END" for each name, with one blank; END is "-" without an end.
extension ProviderSwitch {
    package var text: String {
        endOfName.map { name, end in "\(name) \(end.map { String($0) } ?? "-")" }.sorted().joined(separator: "\n")
    }

    /// Parses the text, which has at most `maxTextBytes`. Malformed lines are skipped, and the others are used.
    package init(text: String) {
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ", omittingEmptySubsequences: false)
            guard words.count == 2, let name = Name(String(words[0])) else { continue }
            guard words[1] == "-" || Int64(words[1]) != nil else { continue }
            endOfName[name] = .some(Int64(words[1]))
        }
    }
}

extension [Name: Instant?] {
    /// Returns the name or its nearest ancestor in the table with a future end; nil: none.
    func covering(_ name: Name, now: Instant) -> (name: Name, until: Instant?)? {
        covering(name) { until in until.map { now < $0 } ?? true }.map { (name: $0.name, until: $0.value) }
    }
}

extension Dictionary where Key == Name {
    /// Returns the name or its nearest ancestor in the table with a matching value; nil: none.
    fileprivate func covering(_ name: Name, _ isMeant: (Value) -> Bool) -> (name: Name, value: Value)? {
        guard !isEmpty else { return nil }
        var next: Name? = name
        while let name = next {
            if let value = self[name], isMeant(value) { return (name, value) }
            next = name.parent
        }
        return nil
    }
}
