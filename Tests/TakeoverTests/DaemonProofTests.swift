// A reply counts as the daemon's only with its own mark.

@testable import httpdnsctl
import Testing

@Suite("Proof that the daemon answers")
struct DaemonProofTests {
    private func reply(_ proof: DaemonProof, _ answer: [UInt8], id: UInt16 = 0x1234, code: UInt8 = 0) -> [UInt8] {
        var bytes = proof.question(id: id)
        bytes[2] |= 0x80
        bytes[3] = code
        bytes[7] = 1
        return bytes + answer
    }

    @Test(
        "the daemon's words prove it",
        arguments: [
            (DaemonProof.version, Array("httpdnsd 0.1.0".utf8)),
            (.zone, Array("query TXT of NAME.KEY.why.httpdnsd. or".utf8)),
            (.name, [0, 4, 127, 0, 0, 1]),
        ])
    func proof(proof: DaemonProof, answer: [UInt8]) {
        #expect(proof.isProved(by: reply(proof, answer), id: 0x1234))
        #expect(!proof.isProved(by: reply(proof, answer), id: 0x1235))
        #expect(!proof.isProved(by: reply(proof, answer, code: 5), id: 0x1234))
        #expect(!proof.isProved(by: proof.question(id: 0x1234) + answer, id: 0x1234))
    }

    @Test("an echo of the question proves nothing", arguments: DaemonProof.allCases)
    func echo(proof: DaemonProof) {
        #expect(!proof.isProved(by: reply(proof, []), id: 0x1234))
        #expect(!proof.isProved(by: reply(proof, Array("unbound 1.17".utf8)), id: 0x1234))
        #expect(!proof.isProved(by: [], id: 0))
    }
}
