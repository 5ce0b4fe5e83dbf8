// Addresses that no public name may have: whoever answers with them leads a browser into the local network (DNS
// rebinding), or has forged the answer.

import DNSWire

extension NamePolicy {
    /// The answer without such addresses; nil when none of its addresses is left.
    func withoutPrivateAddresses(_ answer: Answer) -> Answer? {
        guard !allowsPrivate, answer.addresses.contains(where: \.isPrivate) else { return answer }
        let records = answer.records.filter { !($0.address?.isPrivate ?? false) }
        guard records.contains(where: { $0.address != nil }) else { return nil }
        return Answer(records: records).remarked(.filteredAddresses)
    }
}
