// Log events about sets of nftables and about the helper that writes them: changes of state only.

import Control
import DNSWire

enum AddressSetNews: Equatable {
    case helperGone(socket: String, reason: String)
    case helperWorks
    case setReady(AddressSet, RecordType)
    case setFaulty(AddressSet, fault: String)
    case elementsRefused(AddressSet, reason: String)

    var word: String {
        switch self {
        case .helperGone: "nftset-helper-gone"
        case .helperWorks: "nftset-helper-works"
        case .setReady: "nftset-ready"
        case .setFaulty: "nftset-faulty"
        case .elementsRefused: "nftset-refused"
        }
    }

    var text: String {
        switch self {
        case .helperGone(let socket, let reason):
            "no addresses get into nftables sets: httpdnsd-nftset can't be reached at \(socket): \(reason); run: "
                + "systemctl enable --now httpdnsd-nftset.socket"
        case .helperWorks: "httpdnsd-nftset is reached again"
        case .setReady(let set, let type):
            "nftables set \(set) gets addresses of \(type) records"
        case .setFaulty(let set, let fault): "nftables set \(set) gets no addresses: \(fault)"
        case .elementsRefused(let set, let reason):
            "nftables set \(set) does not take some addresses: \(reason); make it larger (size), or without the flag "
                + "interval. Further ones are counted (nftset.failed)"
        }
    }

    var fields: [String: LogField] {
        switch self {
        case .helperGone(let socket, let reason): ["socket": .text(socket), "reason": .text(reason)]
        case .helperWorks: [:]
        case .setReady(let set, let type): ["set": .text(set.description), "type": .text(type.description)]
        case .setFaulty(let set, let fault): ["set": .text(set.description), "reason": .text(fault)]
        case .elementsRefused(let set, let reason): ["set": .text(set.description), "reason": .text(reason)]
        }
    }
}
