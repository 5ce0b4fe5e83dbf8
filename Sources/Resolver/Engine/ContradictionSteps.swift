// Answers that contradict the rule for their name.

import DNSWire

extension Resolver {
    /// Number of answers of a source that contradicted a rule's expectation.
    package func contradictions(of source: Source) -> UInt64 { state.contradicting.count(of: source) }
}
