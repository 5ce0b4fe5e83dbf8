// The operator's degrade switch: names that are kept from the providers for a time, and everything under them. A value
// in wall time, because it is kept over restarts; it decides nothing about questions.

package import DNSWire

package struct ProviderSwitch: Equatable, Sendable {
    /// In milliseconds since 1970; nil: until it is switched on. The root is all names.
    package private(set) var endOfName: [Name: Int64?] = [:]

    /// One for each rule would be more than an operator remembers; a full one refuses.
    package static let maxNames = 64
    /// What is not kept would be forgotten by a restart: a note in the store has room for so many.
    package static let maxTextBytes = 4_096

    package init() {}

    /// - Returns: false when there is no room.
    package mutating func switchOff(_ name: Name, untilMilliseconds end: Int64?) -> Bool {
        var new = self
        new.endOfName[name] = .some(end)
        guard new.endOfName.count <= ProviderSwitch.maxNames, new.text.utf8.count <= ProviderSwitch.maxTextBytes else {
            return false
        }
        self = new
        return true
    }

    /// - Parameter name: nil for all that is switched off.
    /// - Returns: the names that may go to the providers again; none when it was not off.
    package mutating func switchOn(_ name: Name?) -> [Name] {
        guard let name else {
            defer { endOfName = [:] }
            return Array(endOfName.keys)
        }
        return endOfName.removeValue(forKey: name) == nil ? [] : [name]
    }

    /// The names whose time is over.
    package mutating func expire(nowMilliseconds: Int64) -> [Name] {
        let over = endOfName.filter { $0.value.map { $0 <= nowMilliseconds } ?? false }.map(\.key)
        for name in over { endOfName[name] = nil }
        return over
    }

    /// The name or one that it is under is switched off, and has not expired.
    package func isOff(_ name: Name) -> Bool { endOfName.covering(name) { _ in true } != nil }

    /// When `expire` has something to do.
    package var nextEndMilliseconds: Int64? { endOfName.values.compactMap { $0 }.min() }
}

// As text, for the store: "NAME END" with one blank, a line for each; END is "-" for none.
extension ProviderSwitch {
    package var text: String {
        endOfName.map { name, end in "\(name) \(end.map { String($0) } ?? "-")" }.sorted().joined(separator: "\n")
    }

    /// Lines that are not of this form are left out: half a switch is better than none.
    package init(text: String) {
        for line in text.split(separator: "\n").prefix(ProviderSwitch.maxNames) {
            let words = line.split(separator: " ", omittingEmptySubsequences: false)
            guard words.count == 2, let name = Name(String(words[0])) else { continue }
            guard words[1] == "-" || Int64(words[1]) != nil else { continue }
            endOfName[name] = .some(Int64(words[1]))
        }
    }
}

extension [Name: Instant?] {
    /// The name, or the nearest one above it, that stands here and whose time is not over; nil: none.
    func covering(_ name: Name, now: Instant) -> (name: Name, until: Instant?)? {
        covering(name) { until in until.map { now < $0 } ?? true }.map { (name: $0.name, until: $0.value) }
    }
}

extension Dictionary where Key == Name {
    /// The name, or the nearest one above it, that stands here with such a value; nil: none.
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
