// The other address family of a question; clients usually ask for both.

import DNSWire

extension Question {
    /// The same question for the other address family.
    var otherFamily: Question? {
        switch type {
        case .a: with(.aaaa)
        case .aaaa: with(.a)
        default: nil
        }
    }
}
