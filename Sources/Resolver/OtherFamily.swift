// A name's addresses come in two families, and clients ask for both.

import DNSWire

extension Question {
    /// The same name's addresses of the other family.
    var otherFamily: Question? {
        switch type {
        case .a: with(.aaaa)
        case .aaaa: with(.a)
        default: nil
        }
    }
}
