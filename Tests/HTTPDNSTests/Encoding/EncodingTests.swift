// Bytes as text, both ways: hexadecimal digits and the two alphabets of base 64.

import DNSWire
import TestSupport
import Testing

@testable import HTTPDNS

struct EncodingTests {
    @Test(
        "base 64 gives RFC 4648's vectors, with and without padding",
        arguments: [
            ("", "", ""), ("f", "Zg==", "Zg"), ("fo", "Zm8=", "Zm8"), ("foo", "Zm9v", "Zm9v"),
            ("foobar", "Zm9vYmFy", "Zm9vYmFy"), ("\u{3F}\u{3E}\u{7F}", "Pz5/", "Pz5_"), ("~~~>", "fn5+Pg==", "fn5-Pg"),
        ])
    func base64(text: String, padded: String, url: String) {
        let bytes = Array(text.utf8)
        #expect(Base64.standard.encode(bytes) == padded)
        #expect(Base64.url.encode(bytes) == url)
        #expect(Base64.standard.decode(padded) == bytes)
        #expect(Base64.url.decode(url) == bytes)
        #expect(Base64.url.decode(url + "==") == bytes)
    }

    @Test("what is not base 64 is nothing", arguments: ["A", "AAAAA", "A B=", "Zg=x", "Zg*", "é"])
    func noBase64(text: String) {
        #expect(Base64.standard.decode(text) == nil)
        #expect(Base64.url.decode(text) == nil)
    }

    @Test("one alphabet is not the other")
    func alphabets() {
        #expect(Base64.standard.decode("Pz5_") == nil)
        #expect(Base64.url.decode("Pz5/") == nil)
    }

    @Test("digits are written in lower case and read in both")
    func hex() {
        #expect(Hex.encode([0x00, 0x0F, 0xA0, 0xFF]) == "000fa0ff")
        #expect(Hex.decode("000FA0ff".utf8) == [0x00, 0x0F, 0xA0, 0xFF])
        #expect(Hex.decode("".utf8) == [])
    }

    @Test("half a byte and other characters are nothing", arguments: ["0", "000", "0g", "0x", " 00", "00 ", "é"])
    func noHex(text: String) {
        #expect(Hex.decode(text.utf8) == nil)
    }

    @Test("bytes come back, over seeded random ones")
    func roundTrips() {
        var random = SeededRandom(seed: 5)
        for length in 0..<100 {
            let bytes = (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) }
            #expect(Base64.standard.decode(Base64.standard.encode(bytes)) == bytes)
            #expect(Base64.url.decode(Base64.url.encode(bytes)) == bytes)
            #expect(Hex.decode(Hex.encode(bytes).utf8) == bytes)
        }
    }
}
