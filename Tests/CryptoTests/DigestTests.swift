// Digests against the vectors of their RFCs and of the vendors (providers.md).

import Crypto
import Testing

struct DigestTests {
    @Test(
        "MD5 gives RFC 1321's and the vendors' vectors",
        arguments: [
            ("", "d41d8cd98f00b204e9800998ecf8427e"),
            ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
            ("www.aliyun.com-IAmASecret-1534316400", "60c71e98b6d7fcbb366243e224eab457"),
            ("__1023_1566808387000_QlgAuFMwNUwN_www.a.com,www.b.com", "4b00a808d49a334991b7e50d324a9287"),
            ("www.baidu.com-1234567890-1513602734", "9d4eac35c33b8fa1610476ff1532643d"),
            ("a1-b1-c1-AuthSecret", "a792966c2386ba1b2a60520b19212249"),
        ])
    func md5(text: String, digest: String) throws {
        #expect(hex(try Digest.md5(Array(text.utf8))) == digest)
    }

    @Test(
        "SHA-256 gives FIPS 180's vectors",
        arguments: [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        ])
    func sha256(text: String, digest: String) throws {
        #expect(hex(try Digest.sha256(Array(text.utf8))) == digest)
    }

    @Test(
        "HMAC-SHA256 gives RFC 4231's vectors, with keys of every length",
        arguments: [
            (
                "Jefe", "what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
            ),
            ("", "", "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"),
        ])
    func hmac(key: String, text: String, code: String) throws {
        #expect(hex(try Digest.hmacSHA256(key: Array(key.utf8), Array(text.utf8))) == code)
    }

    @Test("a prepared key gives the same code for a message, whichever messages came before (RFC 4231, case 2)")
    func preparedKey() throws {
        let authenticator = try MessageAuthenticator(key: Array("Jefe".utf8))
        let message = Array("what do ya want for nothing?".utf8)
        for before in [[], message, [UInt8](repeating: 7, count: 1000)] {
            _ = try authenticator.code(of: before)
            let code = hex(try authenticator.code(of: message))
            #expect(code == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
        }
    }

    @Test("a key longer than a block is hashed first (RFC 4231, case 6)")
    func longKey() throws {
        let text = "Test Using Larger Than Block-Size Key - Hash Key First"
        let code = try Digest.hmacSHA256(key: [UInt8](repeating: 0xAA, count: 131), Array(text.utf8))
        #expect(hex(code) == "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54")
    }
}
