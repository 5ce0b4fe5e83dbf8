// Tencent's dialects with DES and AES: the vectors and raw exchanges of providers.md 1.3 and 9.1, every form of an
// empty answer, and bodies that cannot be decrypted.

import Crypto
import DNSWire
import HTTPDNS
import Testing

struct DNSPodEncryptedTests {
    private static let names = ["dnspod-des", "dnspod-aes"]
    private let des = DNSPodEncrypted(url: "http://119.29.29.98/d", account: "1234", key: "dnspodpass", cipher: .des)
    private let aes = DNSPodEncrypted(
        url: "http://119.29.29.98/d", account: "1234", key: "0123456789abcdef", cipher: .aes)
    private let asked: Question
    private let both: [Question]

    init() throws {
        asked = try question("www.dnspod.cn")
        both = [asked, try question("www.dnspod.cn", .aaaa)]
    }

    private func encrypted(_ text: String) throws -> String {
        hex(try Cipher.desECB(encrypt: Array(text.utf8), key: Array("dnspodpa".utf8)))
    }

    private func hex(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    // MARK: requests

    @Test("the raw exchange with AES (T2)")
    func exchangeT2() throws {
        #expect(
            try aes.request(for: both).url
                == "http://119.29.29.98/d?dn=101112131415161718191a1b1c1d1e1fe3e56e582ad59947168b302b07b75b9c"
                + "&clientip=1&ttl=1&query=1&id=1234&type=addrs&alg=aes")
        let body =
            "202122232425262728292a2b2c2d2e2fbbe54424b614a7d1efe39a64049b5ff533184932a8fbbc331fe7eeeb669d907b"
            + "e62d6fea477a70677956b4a742bc28d663340c124550c3fea377c5d626da9aa139e66730549cb7b748f9f57f4f53905b"
        let answers = try aes.answers(from: reply(body), to: both).map { try $0.get() }
        #expect(answers.map(\.ttlSeconds) == [120, 90])
        #expect(answers[0].addresses.map(\.description) == ["192.0.2.10", "192.0.2.11"])
        #expect(answers[1].addresses.map(\.description) == ["2001:db8::10"])
    }

    @Test("the raw exchange with DES (T3)")
    func exchangeT3() throws {
        let url = "http://119.29.29.98/d?dn=87ae992c1321f299da3c0210a9900ae7&clientip=1&ttl=1&query=1&id=1234&alg=des"
        #expect(try des.request(for: asked).url == url)
        let body =
            "87ae992c1321f299fcc9158666cbcfb81bb96d1002a9b2b860125d6a79c8b6e1c7d24d2afade4b562e2f2b679a3a0ac8"
            + "f1ae5b67f0fadbaa"
        let answer = try des.answer(from: reply(body), to: asked)
        #expect(answer.addresses.map(\.description) == ["192.0.2.10", "192.0.2.11"])
        #expect(answer.ttlSeconds == 120)
    }

    @Test("several names and their expiry are encrypted together")
    func lists() throws {
        let list = [asked, try question("www.qq.com")]
        let digits = "87ae992c1321f299b0bb06469d4e735cb6f2ecfd4d3e3ce409443eb85b754b4d"
        #expect(try des.request(for: list).url.contains("?dn=\(digits)&"))
        let expiring = DNSPodEncrypted(url: "/d", account: "1", key: "dnspodpass", cipher: .des, expires: true)
        let expiringDigits = "87ae992c1321f299aa7b05a65eb9a06f66174822ce1f0dff09443eb85b754b4d"
        #expect(try expiring.request(for: asked).url.contains("?dn=\(expiringDigits)&"))
        let expiringAES = DNSPodEncrypted(url: "/d", account: "1", key: "0123456789abcdef", cipher: .aes, expires: true)
        #expect(
            try expiringAES.request(for: asked).url.contains(
                "1e1f7c92da3321250a4db35d1e98621ecbdf1e37236689f1dec037ac970f8e4fd32c&"))
    }

    @Test("the clients' subnet is sent in plain, last, as the vendor's clients do")
    func subnet() throws {
        let context = DialectContext(
            unixMilliseconds: 0, nonce: Array(0x10...0x1F), clientSubnet: Prefix("203.0.113.0/24"))
        #expect(try des.request(for: [asked], in: context).url.hasSuffix("&id=1234&alg=des&ip=203.0.113.0"))
    }

    @Test("the clients' subnet is sent encrypted if the settings say so, as the vendor's documents do")
    func encryptedSubnet() throws {
        let encrypting = DNSPodEncrypted(
            url: "/d", account: "1234", key: "dnspodpass", cipher: .des, encryptsClient: true)
        let context = DialectContext(unixMilliseconds: 0, nonce: Array(0x10...0x1F), clientSubnet: Prefix("1.2.3.4/32"))
        #expect(try encrypting.request(for: [asked], in: context).url.hasSuffix("&alg=des&ip=cf153ecae28a3e4f"))
        let forms = try des.clientForms.map { try $0.dialect.request(for: [asked], in: context).url }
        #expect(forms.map { $0.hasSuffix("ip=cf153ecae28a3e4f") } == [false, true])
    }

    @Test(
        "the client's address that a reply is for, on any line of it",
        arguments: [
            ("192.0.2.10,120|203.0.113.7", "203.0.113.7"),
            ("a.example.:0\nb.example.:192.0.2.1,60|2001:db8::7", "2001:db8::7"),
            ("192.0.2.10,120", nil), ("192.0.2.10,120|", nil), ("192.0.2.10,120|x", nil), ("", nil),
        ])
    func client(text: String, expected: String?) throws {
        #expect(des.clientAddress(in: reply(try encrypted(text))) == expected.flatMap { Address($0) })
        #expect(des.clientAddress(in: reply("<html>")) == nil)
    }

    @Test("short keys are filled as the vendor's clients fill them: DES with zeros, AES with the digit 0")
    func shortKeys() throws {
        let short = DNSPodEncrypted(url: "/d", account: "1", key: "abc", cipher: .aes)
        let full = DNSPodEncrypted(url: "/d", account: "1", key: "abc0000000000000", cipher: .aes)
        #expect(try short.request(for: asked) == full.request(for: asked))
        let shortDES = DNSPodEncrypted(url: "/d", account: "1", key: "abc", cipher: .des)
        let cipher = try Cipher.desECB(encrypt: Array("www.dnspod.cn".utf8), key: [0x61, 0x62, 0x63, 0, 0, 0, 0, 0])
        #expect(try shortDES.request(for: asked).url.contains("?dn=\(hex(cipher))&"))
    }

    // MARK: replies

    @Test("every form of an empty reply is parsed as ambiguous")
    func emptiness() throws {
        let bodies = [
            "", "\r\n", "0", "0\n\0", "6553b1dde084cb06", "09443eb85b754b4d", "09443EB85B754B4D\r\n\0 ",
            "87ae992c1321f299f21270963d639d772e2f2b679a3a0ac8f1ae5b67f0fadbaa",
            "87ae992c1321f299f21270963d639d7784497712dddd6d1b47fc5e5156a2e447", try encrypted("0-0"),
            try encrypted("www.dnspod.cn.:0-0\r\n\0"),
        ]
        for body in bodies {
            let results = des.answers(from: reply(body), to: both)
            #expect(results.map { try? $0.get().kind } == [.ambiguousEmpty, .ambiguousEmpty], "\(body)")
        }
    }

    @Test("each family has its own TTL and its own emptiness")
    func families() throws {
        let body = try encrypted("www.dnspod.cn.:0-2001:db8::10;,90|203.0.113.7")
        let answers = try des.answers(from: reply(body), to: both.reversed()).map { try $0.get() }
        #expect(answers.map(\.kind) == [.records, .ambiguousEmpty])
        #expect(answers[0].ttlSeconds == 90)
    }

    @Test("an address of the other family alone proves nothing about the one that is not there")
    func missingFamily() throws {
        let results = des.answers(from: reply(try encrypted("192.0.2.1,60")), to: both)
        #expect(results[0].error == nil && results[1].isGarbage)
    }

    @Test(
        "what can't be decrypted is garbage and never empty",
        arguments: [
            "655", "6553b1dde084cb0", "6553b1dde084cbzz", "6553b1dde084cb07", "6553b1dde084", "00", "404",
            "192.0.2.10;192.0.2.11,120", "<html></html>", "6553 b1dde084cb06",
        ], names)
    func garbage(body: String, dialect: String) throws {
        let dialect = try #require(Dialects.make(named: dialect, url: "/d"))
        #expect(dialect.answers(from: reply(body), to: both).map(\.isGarbage) == [true, true])
    }

    @Test("a reply under another key is garbage", arguments: names)
    func otherKey(dialect: String) throws {
        let dialect = try #require(Dialects.make(named: dialect, url: "/d"))
        for number in 0..<200 {
            let algorithm: DNSPodEncrypted.Algorithm = number.isMultiple(of: 2) ? .des : .aes
            let other = DNSPodEncrypted(url: "/d", account: "1", key: "other\(number)", cipher: algorithm)
            let strange = other.reply(to: [asked], with: [.answer(Answer(negative: .noData))])
            #expect(outcome(of: strange, to: asked, by: dialect).isGarbage, "key \(number)")
        }
    }

    @Test("every cut of a reply is a failure, or emptiness when nothing is left", arguments: names)
    func cuts(dialect: String) throws {
        let dialect = try #require(Dialects.make(named: dialect, url: "/d"))
        let records = [try record("www.dnspod.cn", .a, 120, "192.0.2.10")]
        let body = dialect.reply(to: asked, with: Answer(records: records)).body
        for length in 1..<body.count {
            let result = outcome(of: HTTPReply(body: Array(body.prefix(length))), to: asked, by: dialect)
            #expect(result.isGarbage, "cut at \(length): \(result)")
        }
    }

    // MARK: the server's side

    @Test("the server takes names with and without an expiry, and is strict about account, algorithm and time")
    func server() throws {
        let expiring = "/d?id=1234&dn=87AE992C1321F299AA7B05A65EB9A06F66174822CE1F0DFF09443EB85B754B4D"
        #expect(try des.questions(from: HTTPRequest(url: expiring)) == [asked])
        let plain = "dn=87ae992c1321f299da3c0210a9900ae7"
        #expect(try des.questions(from: HTTPRequest(url: "/d?ttl=1&id=1234&\(plain)&type=ADDRS")) == both)
        let late = DialectContext(unixMilliseconds: 1_755_525_850_000, nonce: Array(0x10...0x1F))
        #expect(throws: DialectError.clock) { try des.questions(from: HTTPRequest(url: expiring), in: late) }
        #expect(throws: DialectError.account("id")) { try des.questions(from: HTTPRequest(url: "/d?id=1&\(plain)")) }
        #expect(throws: DialectError.account("alg")) {
            try des.questions(from: HTTPRequest(url: "/d?id=1234&alg=aes&\(plain)"))
        }
        for dn in ["", "&dn=", "&dn=0", "&dn=zz", "&dn=87ae992c1321f299da3c0210a9900ae6"] {
            #expect(throws: DialectError.self) { try des.questions(from: HTTPRequest(url: "/d?id=1234\(dn)")) }
        }
    }

    @Test("the server's bytes are the vendor's")
    func serverBytes() throws {
        let four = try ["192.0.2.10", "192.0.2.11"].map { try record("www.dnspod.cn", .a, 120, $0) }
        let six = Answer(records: [try record("www.dnspod.cn", .aaaa, 90, "2001:db8::10")])
        let body = aes.reply(
            to: both, with: [.answer(Answer(records: four)), .answer(six)],
            in: DialectContext(unixMilliseconds: 0, nonce: Array(0x20...0x2F))
        ).body
        #expect(
            String(decoding: body, as: UTF8.self)
                == "202122232425262728292a2b2c2d2e2fbbe54424b614a7d1efe39a64049b5ff533184932a8fbbc331fe7eeeb669d907b"
                + "e62d6fea477a70677956b4a742bc28d663340c124550c3fea377c5d626da9aa139e66730549cb7b748f9f57f4f53905b")
        let empty = des.reply(to: asked, with: Answer(negative: .noData)).body
        let digits = "87ae992c1321f299f21270963d639d772e2f2b679a3a0ac8f1ae5b67f0fadbaa"
        #expect(String(decoding: empty, as: UTF8.self) == digits)
    }
}
