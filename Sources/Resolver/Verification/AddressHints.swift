// Filters address hints in HTTPS and SVCB answers. Clients connect to hints without an address query, so only addresses
// that an answer would contain remain.

import DNSWire

extension NameVerification {
    /// Returns the answer with only those hints that the name's own address answers contain. An answer that is too
    /// large to be held gets no hints.
    func withKnownHints(_ question: Question, _ answer: Answer) -> Answer {
        let allowed = answer.isHeld ? handedOut(for: question) : []
        return answer.withHints { record in
            guard let target = record.bindingTarget else { return [] }
            return target.isRoot || target == record.owner || target == name ? allowed : []
        }
    }

    /// The addresses of both families handed out to the same clients.
    private func handedOut(for question: Question) -> Set<Address> {
        Set(
            [RecordType.a, .aaaa].flatMap { family -> [Address] in
                let kept = index(of: question.with(family)).flatMap { questions[$0].kept }
                return kept.map { order(of: $0.answer.addresses).addresses } ?? []
            })
    }
}

extension Answer {
    /// The answer without hints, for a name without stored state.
    var withoutHints: Answer { withHints { _ in [] } }

    fileprivate func withHints(_ allowed: (ResourceRecord) -> Set<Address>) -> Answer {
        let records = records.map { record in
            let addresses = allowed(record)
            return record.withAddressHints { addresses.contains($0) }
        }
        return records == self.records ? self : Answer(records: records).remarked(remark)
    }

    /// The answer is small enough to be held for a later rearrangement.
    var isHeld: Bool {
        records.reduce(0) { $0 + $1.owner.wire.count + $1.data.count } <= Bounds.maxHeldBytes
    }
}

extension RecordType {
    /// Types whose answers lead to addresses.
    var leadsToAddresses: Bool { isAddress || isServiceBinding }
}
