// False answers in well-formed replies, as from a lying or faulty resolver. The false addresses belong to no name of
// the lab, so that tests can detect a client that accepted one.

import DNSWire
import HTTPDNS

enum Falsehood {
    /// Returns the questions and answers that the reply claims under this fault.
    static func claims(
        under fault: Fault?, _ asked: [Question], _ resolutions: [Resolution]
    ) -> (questions: [Question], resolutions: [Resolution]) {
        switch fault {
        case .wrongName:
            let others = asked.map(otherName)
            return (others, zip(others, resolutions).map { forged($0, $1, v4: 0xC633_6442, v6: "2001:db8:bad::1") })
        case .privateAddress:
            return (asked, zip(asked, resolutions).map { forged($0, $1, v4: 0xC0A8_0101, v6: "fd00::1") })
        case .nothing: return (asked, resolutions.map { _ in .answer(Answer(negative: .noData)) })
        default: return (asked, resolutions)
        }
    }

    /// Returns a name below the original one, or the original one if that would be too long.
    private static func otherName(_ question: Question) -> Question {
        let name = Name(wire: [1, UInt8(ascii: "x")] + question.name.wire)
        return Question(name ?? question.name, question.type)
    }

    /// - Parameter v4: 198.51.100.66 or 192.168.1.1, as a number.
    private static func forged(_ question: Question, _ resolution: Resolution, v4: UInt32, v6: String) -> Resolution {
        let address = question.type == .a ? .v4(v4) : Address(v6)
        guard question.type.isAddress, let address else { return resolution }
        return .answer(Answer(records: [ResourceRecord(owner: question.name, address: address, ttlSeconds: 300)]))
    }
}
