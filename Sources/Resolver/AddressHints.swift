// Address hints in HTTPS and SVCB answers: clients connect to them without asking for an address, so nothing stands
// there that an answer would not hand out.

import DNSWire

extension NameKnowledge {
    /// The answer with those hints that lead where the name's own answers lead. What is too large to be looked after
    /// has none.
    func withKnownHints(_ question: Question, _ answer: Answer) -> Answer {
        let allowed = answer.isHeld ? handedOut(for: question) : []
        return answer.withHints { record in
            guard let target = record.bindingTarget else { return [] }
            return target.isRoot || target == record.owner || target == name ? allowed : []
        }
    }

    /// Of both families, for the same clients.
    private func handedOut(for question: Question) -> Set<Address> {
        Set(
            [RecordType.a, .aaaa].flatMap { family -> [Address] in
                let kept = index(of: question.with(family)).flatMap { questions[$0].kept }
                return kept.map { order(of: $0.answer.addresses).addresses } ?? []
            })
    }
}

extension Answer {
    /// Of a name of which nothing is known.
    var withoutHints: Answer { withHints { _ in [] } }

    fileprivate func withHints(_ allowed: (ResourceRecord) -> Set<Address>) -> Answer {
        let records = records.map { record in
            let addresses = allowed(record)
            return record.withAddressHints { addresses.contains($0) }
        }
        return records == self.records ? self : Answer(records: records)
    }

    /// Small enough to be held in case that it has to change.
    var isHeld: Bool {
        records.reduce(0) { $0 + $1.owner.wire.count + $1.data.count } <= Bounds.maxHeldBytes
    }
}

extension RecordType {
    /// What leads to addresses.
    var leadsToAddresses: Bool { isAddress || isServiceBinding }
}
