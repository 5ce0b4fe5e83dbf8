// Sets of nftables in `status`.

import Control
import DNSWire
import SetFeed

extension AddressSets {
    /// The sets in `status`; nil without sets.
    var reports: [StatusReport.NFTSet]? {
        isOn ? sets.map { StatusReport.NFTSet(set: $0.description, fault: fault(of: $0)) } : nil
    }
}
