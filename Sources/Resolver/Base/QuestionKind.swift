// The features that an upstream must carry to be asked a question.

import DNSWire

struct QuestionKind {
    let type: RecordType
    /// DO or CD is set: HTTP APIs without messages have no place for the bits, nor for signatures.
    let needsDNSSEC: Bool

    static let a = QuestionKind(type: .a, needsDNSSEC: false)
}

extension Question {
    var kind: QuestionKind { QuestionKind(type: type, needsDNSSEC: !dnssec.isEmpty) }
}
