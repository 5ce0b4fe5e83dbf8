// A rule's setting `family`: which address family clients get for its names. Questions for the other family get no
// data: always, or if the preferred family has a usable address. This reply is the daemon's own and never cached. The
// cache holds nothing of an excluded family. Of a yielding family it may hold an answer from before the preferred
// family had a usable address, or a provider's answer that outranks a substitute of the preferred family.

package import DNSWire

extension FamilyPolicy {
    enum Treatment {
        case ordinary
        /// The question gets no data, and no upstream is asked.
        case excluded
        /// The question gets no data if the name has a usable address of the other family.
        case yielding
    }

    func treatment(of type: RecordType) -> Treatment {
        switch (self, type) {
        case (.ipv4, .aaaa), (.ipv6, .a): .excluded
        case (.preferIPv4, .aaaa), (.preferIPv6, .a): .yielding
        default: .ordinary
        }
    }
}

extension Answer {
    static func withoutFamily(_ question: Question) -> Answer {
        nothing(.noData, about: question, by: .familyOfRule)
    }

    /// A negative answer because of a rule. The SOA record lets clients cache it (RFC 2308 section 5).
    static func nothing(_ kind: Kind, about question: Question, by remark: ExtendedError?) -> Answer {
        Answer.nothing(kind, inZone: question.name, ttlSeconds: Bounds.ruleTTLSeconds).remarked(remark)
    }
}

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
