// Ciphers against published vectors, over every length around their blocks, and all inputs that they must refuse.

import Crypto
import TestSupport
import Testing

struct CipherTests {
    private static let aesKey = Array("0123456789abcdef".utf8)
    private static let desKey = Array("dnspodpa".utf8)

    @Test("the block cipher inside is DES")
    func desBlock() throws {
        let cipher = try Cipher.desECB(encrypt: try bytes("0123456789abcdef"), key: try bytes("133457799bbcdff1"))
        #expect(hex(Array(cipher.prefix(8))) == "85e813540f0ab405")
    }

    @Test("AES-GCM gives the vectors of the GCM specification, both ways")
    func aesGCM() throws {
        let zeros = [UInt8](repeating: 0, count: 16)
        let iv = [UInt8](repeating: 0, count: 12)
        #expect(hex(try Cipher.aesGCM(encrypt: [], key: zeros, iv: iv)) == "58e2fccefa7e3061367f1d57a4e7455a")
        let sealed = "0388dace60b6a392f328c2b971b2fe78ab6e47d42cec13bdf53a67b21257bddf"
        #expect(hex(try Cipher.aesGCM(encrypt: zeros, key: zeros, iv: iv)) == sealed)
        #expect(try Cipher.aesGCM(decrypt: try bytes(sealed), key: zeros, iv: iv) == zeros)
    }

    @Test("what was encrypted comes back, at every length around the blocks")
    func roundTrips() throws {
        var random = SeededRandom(seed: 11)
        for length in 0...66 {
            let plain = (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) }
            let iv = (0..<16).map { _ in UInt8.random(in: 0...255, using: &random) }
            let key = CipherTests.aesKey
            let cbc = try Cipher.aesCBC(encrypt: plain, key: key, iv: iv)
            #expect(cbc.count == (length / 16 + 1) * 16)
            #expect(try Cipher.aesCBC(decrypt: cbc, key: key, iv: iv) == plain)
            let gcm = try Cipher.aesGCM(encrypt: plain, key: key, iv: Array(iv.prefix(12)))
            #expect(gcm.count == length + 16)
            #expect(try Cipher.aesGCM(decrypt: gcm, key: key, iv: Array(iv.prefix(12))) == plain)
            let des = try Cipher.desECB(encrypt: plain, key: CipherTests.desKey)
            #expect(des.count == (length / 8 + 1) * 8)
            #expect(try Cipher.desECB(decrypt: des, key: CipherTests.desKey) == plain)
        }
    }

    @Test("a bit that was changed anywhere spoils all of GCM")
    func wrongTag() throws {
        let iv = [UInt8](repeating: 7, count: 12)
        let sealed = try Cipher.aesGCM(encrypt: Array("www.aliyun.com".utf8), key: CipherTests.aesKey, iv: iv)
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 1
            #expect(throws: CryptoError.self) {
                try Cipher.aesGCM(decrypt: changed, key: CipherTests.aesKey, iv: iv)
            }
            #expect(throws: CryptoError.self) {
                try Cipher.aesGCM(decrypt: Array(sealed.prefix(index)), key: CipherTests.aesKey, iv: iv)
            }
        }
    }

    @Test("half blocks, no blocks and wrong padding throw")
    func wrongPadding() throws {
        let iv = [UInt8](repeating: 0, count: 16)
        for length in [0, 1, 7, 9, 15, 17, 31] {
            let cipher = [UInt8](repeating: 0x5A, count: length)
            #expect(throws: CryptoError.self) { try Cipher.aesCBC(decrypt: cipher, key: CipherTests.aesKey, iv: iv) }
            #expect(throws: CryptoError.self) { try Cipher.desECB(decrypt: cipher, key: CipherTests.desKey) }
        }
        let short = try Cipher.desECB(encrypt: Array("12345678".utf8), key: CipherTests.desKey).prefix(8)
        #expect(throws: CryptoError.self) { try Cipher.desECB(decrypt: Array(short), key: CipherTests.desKey) }
    }

    @Test("keys and IVs of other lengths throw", arguments: [0, 1, 7, 9, 11, 13, 15, 17, 24, 32])
    func wrongLengths(length: Int) throws {
        let other = [UInt8](repeating: 1, count: length)
        let key = CipherTests.aesKey
        #expect(throws: CryptoError.self) { try Cipher.aesCBC(encrypt: [], key: other, iv: key) }
        #expect(throws: CryptoError.self) { try Cipher.aesCBC(encrypt: [], key: key, iv: other) }
        #expect(throws: CryptoError.self) { try Cipher.aesGCM(encrypt: [], key: other, iv: Array(key.prefix(12))) }
        #expect(throws: CryptoError.self) { try Cipher.aesGCM(encrypt: [], key: key, iv: other) }
        #expect(throws: CryptoError.self) { try Cipher.desECB(encrypt: [], key: other) }
    }

    @Test("an error says what failed and nothing of key or text, and leaves nothing for the next")
    func errors() throws {
        let error = #expect(throws: CryptoError.self) {
            try Cipher.desECB(decrypt: Array("secrets!".utf8), key: CipherTests.desKey)
        }
        #expect(error?.text.hasPrefix("DES-ECB decryption: ") == true)
        #expect(error?.text.contains("secrets") == false && error?.text.contains("dnspod") == false)
        #expect(try Cipher.desECB(encrypt: [], key: CipherTests.desKey).count == 8)
    }
}
