// A rendered answer from a file. An accepted answer must be readable, in a reply, as an answer to its question.

import DNSWire
import TestSupport

extension FuzzEntry {
    /// The input: type, response code, two counts, the truncation flag; then the body.
    package static let storedAnswer = FuzzEntry(name: "StoredAnswer") { bytes in
        guard bytes.count >= 5 else { return }
        let question = Question(storedName, RecordType(rawValue: storedTypes[Int(bytes[0]) % storedTypes.count]))
        let body = Array(bytes[5...])
        guard
            let answer = RenderedAnswer(
                verifying: body, answerCount: UInt16(bytes[2]), authorityCount: UInt16(bytes[3]),
                responseCode: ResponseCode(rawValue: UInt16(bytes[1])), isCut: bytes[4] & 1 == 1, to: question)
        else { return }
        precondition(answer.body == body, "the bytes are kept as they are")
        check(answer, question)
    }

    private static let storedTypes: [UInt16] = [1, 28, 5, 6, 15, 16, 33, 65, 255]

    private static let storedName: Name = {
        guard let name = Name("www.example.com") else { preconditionFailure("the name is one") }
        return name
    }()

    private static func check(_ answer: RenderedAnswer, _ question: Question) {
        let packet = UpstreamQuery.message(for: question, id: 7)
        guard case .query(let query) = Query.receive(packet.span) else {
            preconditionFailure("our own query is one")
        }
        let reply = [UInt8](capacity: StreamFraming.maxMessageBytes) { output in
            Reply.write(
                Reply.Body(answer), to: query, in: packet.span, ageSeconds: 1, limit: StreamFraming.maxMessageBytes,
                into: &output)
        }
        do throws(UpstreamReplyError) {
            let read = try UpstreamReply.answer(in: reply, to: question, id: 7)
            precondition(Set(read.addresses) == Set(answer.addresses), "the addresses are the same")
            precondition((read.authority == nil) == (answer.authorityCount == 0), "the authority is the same")
        } catch {
            precondition(error == .truncated && answer.isCut, "\(error)")
        }
    }
}
