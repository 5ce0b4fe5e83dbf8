// Answers that are wrong in what they say rather than in their form: what a resolver that lies or errs puts into a
// reply that every parser takes. The false addresses stand for no public name of the lab, so that one that is believed
// is seen.

import DNSWire
import HTTPDNS

enum Falsehood {
    /// What is said to have been asked, and what is said to it.
    static func told(
        under fault: Fault?, _ asked: [Question], _ resolutions: [Resolution]
    ) -> (questions: [Question], resolutions: [Resolution]) {
        switch fault {
        case .wrongName:
            let others = asked.map(otherName)
            return (others, zip(others, resolutions).map { said($0, $1, v4: 0xC633_6442, v6: "2001:db8:bad::1") })
        case .privateAddress:
            return (asked, zip(asked, resolutions).map { said($0, $1, v4: 0xC0A8_0101, v6: "fd00::1") })
        case .nothing: return (asked, resolutions.map { _ in .answer(Answer(negative: .noData)) })
        default: return (asked, resolutions)
        }
    }

    /// A name under the one that was asked; itself if there is none.
    private static func otherName(_ question: Question) -> Question {
        let name = Name(wire: [1, UInt8(ascii: "x")] + question.name.wire)
        return Question(name ?? question.name, question.type)
    }

    /// - Parameter v4: 198.51.100.66 or 192.168.1.1, as a number.
    private static func said(_ question: Question, _ resolution: Resolution, v4: UInt32, v6: String) -> Resolution {
        let address = question.type == .a ? .v4(v4) : Address(v6)
        guard question.type.isAddress, let address else { return resolution }
        return .answer(Answer(records: [ResourceRecord(owner: question.name, address: address, ttlSeconds: 300)]))
    }
}
