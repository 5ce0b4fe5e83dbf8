// Answers that contradict the rule for their name.

import DNSWire

extension Resolver {
    /// Number of answers of a source that contradicted the rule for their name.
    package func contradictions(of source: Source) -> UInt64 { state.contradicting.count(of: source) }
}
