// Whether the addresses of one family work.

import DNSWire

extension Verification {
    /// Returns whether the answer has an address of the requested type that no probe found dead or mismatched. A local
    /// fault as the cause does not matter: clients here cannot use the address either.
    func hasUsableAddress(_ question: Question, _ answer: Answer) -> Bool {
        let addresses = answer.addresses.filter { $0.recordType == question.type }
        return !addresses.isEmpty && known[question]?.leadsNowhere(addresses) != true
    }
}
