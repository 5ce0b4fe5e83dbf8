// All known ciphertexts of Tencent's servers and clients (providers.md 1.3), encrypted and decrypted.

import Crypto
import Testing

struct TencentVectors {
    @Test(
        "DES-ECB with the key dnspodpass, of which 8 bytes count",
        arguments: [
            ("www.dnspod.cn", "87ae992c1321f299da3c0210a9900ae7"),
            ("www.dnspod.cn;1755525850", "87ae992c1321f299aa7b05a65eb9a06f66174822ce1f0dff09443eb85b754b4d"),
            ("www.dnspod.cn,www.qq.com", "87ae992c1321f299b0bb06469d4e735cb6f2ecfd4d3e3ce409443eb85b754b4d"),
            ("1.2.3.4", "cf153ecae28a3e4f"),
            (
                "192.0.2.10;192.0.2.11,120|203.0.113.7",
                "523362ba93cdece1f39c88071a6f284a3fe965cf1d3c7d11e45875e3be200bdf1b9a8630854b845e"
            ),
            (
                "www.dnspod.cn.:192.0.2.10;192.0.2.11,120|203.0.113.7",
                "87ae992c1321f299fcc9158666cbcfb81bb96d1002a9b2b860125d6a79c8b6e1c7d24d2afade4b562e2f"
                    + "2b679a3a0ac8f1ae5b67f0fadbaa"
            ),
            ("0", "6553b1dde084cb06"),
            ("", "09443eb85b754b4d"),
            ("www.dnspod.cn.:0|203.0.113.7", "87ae992c1321f299f21270963d639d772e2f2b679a3a0ac8f1ae5b67f0fadbaa"),
            ("www.dnspod.cn.:0-0|203.0.113.7", "87ae992c1321f299f21270963d639d7784497712dddd6d1b47fc5e5156a2e447"),
            (
                "log:1|domain:0|ip:192.0.2.21;192.0.2.22|ttl:60",
                "30081362eb88bb9e65def97c568c850b109067ded74c1ac4c33d5bca2661b33220fe574ba0cf88da9554"
                    + "d0c8afe445fb"
            ),
        ])
    func des(plain: String, cipher: String) throws {
        try #require(Cipher.desIsAvailable)
        let key = Array("dnspodpass".utf8.prefix(8))
        #expect(hex(try Cipher.desECB(encrypt: Array(plain.utf8), key: key)) == cipher)
        #expect(try Cipher.desECB(decrypt: try bytes(cipher), key: key) == Array(plain.utf8))
    }

    @Test(
        "AES-CBC with the key 0123456789abcdef, the IV in front of the ciphertext",
        arguments: [
            ("www.dnspod.cn", "101112131415161718191a1b1c1d1e1fe3e56e582ad59947168b302b07b75b9c"),
            (
                "www.dnspod.cn;1755525850",
                "101112131415161718191a1b1c1d1e1f7c92da3321250a4db35d1e98621ecbdf1e37236689f1dec037ac"
                    + "970f8e4fd32c"
            ),
            (
                "192.0.2.10;192.0.2.11,120|203.0.113.7",
                "101112131415161718191a1b1c1d1e1feeff76c5645554565d4c363459797f0e7cd03f8e2a6e9b59eb5a"
                    + "2e1445048b84f837b97ac2da1961b427476566b2c3cd"
            ),
            (
                "www.dnspod.cn.:192.0.2.10,120-2001:db8::10,90|203.0.113.7",
                "101112131415161718191a1b1c1d1e1f508f3a781fcef4c2b5971fc261bb01e4ffb05015493bd9f4ea58"
                    + "779e7850d7f5c12837af80e99d872d3d728ff828f42fd9568fd6d20ce59bba4425cb75963fd2"
            ),
            ("", "202122232425262728292a2b2c2d2e2fedda6332cc273dd7d0480ed5c1f6cb29"),
            (
                "www.dnspod.cn.:192.0.2.10;192.0.2.11,120-2001:db8::10,90|203.0.113.7",
                "202122232425262728292a2b2c2d2e2fbbe54424b614a7d1efe39a64049b5ff533184932a8fbbc331fe7"
                    + "eeeb669d907be62d6fea477a70677956b4a742bc28d663340c124550c3fea377c5d626da9aa139e66730"
                    + "549cb7b748f9f57f4f53905b"
            ),
        ])
    func aes(plain: String, ivAndCipher: String) throws {
        let key = Array("0123456789abcdef".utf8)
        let (iv, cipher) = (try bytes(String(ivAndCipher.prefix(32))), try bytes(String(ivAndCipher.dropFirst(32))))
        #expect(try Cipher.aesCBC(encrypt: Array(plain.utf8), key: key, iv: iv) == cipher)
        #expect(try Cipher.aesCBC(decrypt: cipher, key: key, iv: iv) == Array(plain.utf8))
    }
}
