// Addresses that no public name may have: an answer with them leads a browser into the local network (DNS rebinding),
// or is forged.

import DNSWire

extension NamePolicy {
    /// Returns the answer without private addresses and address hints, whichever upstream gave it; nil if none of its
    /// addresses is left, or if a signature covers them.
    func withoutPrivateAddresses(_ answer: Answer) -> Answer? {
        guard !allowsPrivate else { return answer }
        let prefixes = probes.nat64Prefixes
        let isPrivate = { (address: Address) in address.isPrivate(behind: prefixes) }
        let hasPrivate = answer.records.contains { record in
            record.type.isServiceBinding
                ? record.addressHints.contains(where: isPrivate) : record.address.map(isPrivate) ?? false
        }
        guard hasPrivate else { return answer }
        guard !answer.isSigned else { return nil }
        let records = answer.records.filter { !($0.address.map(isPrivate) ?? false) }
            .map { $0.withAddressHints { !isPrivate($0) } }
        guard records.contains(where: { $0.address != nil || $0.type.isServiceBinding }) else { return nil }
        return Answer(records: records).remarked(.filteredAddresses)
    }
}
