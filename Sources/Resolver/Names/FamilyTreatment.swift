// How a name's settings treat a record type.

package import DNSWire

extension NamePolicy {
    func treatment(of type: RecordType) -> FamilyPolicy.Treatment { family?.treatment(of: type) ?? .ordinary }
}

extension Policy {
    /// Returns whether the settings have the name answered without this type in some case. Answers of this type that
    /// were cached under other settings are obsolete.
    package func limits(_ type: RecordType, of name: Name) -> Bool {
        rules.hasFamilies && of(name).treatment(of: type) != .ordinary
    }
}
