// Version 2 of Alibaba's service: the vectors and shapes of providers.md 2.3, and exchanges A2 and A3 of 9.1.

import DNSWire
import HTTPDNS
import Testing

struct AliCloudV2Tests {
    private let plain: AliCloudV2
    private let cbc: AliCloudV2
    private let gcm: AliCloudV2
    private let asked: [Question]
    private let withGCMVector: DialectContext

    private static let secret = "a0b1c2d3e4f5061728394a5b6c7d8e9f"
    private static let key = "000102030405060708090a0b0c0d0e0f"

    init() throws {
        let make = { (cipher: AliCloudEncryption) throws(DialectFault) in
            try AliCloudV2(url: "", account: "100000", secret: AliCloudV2Tests.secret, cipher: cipher)
        }
        plain = try make(.none)
        cbc = try make(.cbc(AliCloudV2Tests.key))
        gcm = try make(.gcm(AliCloudV2Tests.key))
        asked = [try question("www.aliyun.com"), try question("www.aliyun.com", .aaaa)]
        withGCMVector = try .test(nonce: Array(0x20...0x2F))
    }

    // MARK: requests

    @Test(
        "raw exchange A2: its request is ours but for the session id, which we don't send and the server doesn't mind"
    )
    func exchangeA2() throws {
        let target =
            "/v2/d?id=100000&m=0&dn=www.aliyun.com&q=4%2C6&exp=1755525850&v=1.0"
            + "&s=5218d2696100e40508a7e63b67efd134db396c0c298ea92473ec00b08a128096"
        #expect(try plain.request(for: asked) == HTTPRequest(url: target))
        #expect(try plain.questions(from: HTTPRequest(url: target + "&sid=AbCdEf012345")) == asked)
        let body = """
            {"code":"success","mode":0,"data":{"cip":"42.120.74.99","answers":[{"dn":"www.aliyun.com",\
            "v4":{"ips":["192.0.2.10"],"ttl":60},"v6":{"ips":[],"ttl":300,"no_ip_code":"RRNotExist"}}]}}
            """
        #expect(plain.heard(body, asked) == ["192.0.2.10 60", "noData 300"])
        let answers = [
            Resolution.answer(Answer(records: [try record("www.aliyun.com", .a, 60, "192.0.2.10")])),
            .answer(Answer(negative: .noData, ttlSeconds: 300)),
        ]
        let said = plain.reply(to: asked, with: answers, in: try .test(clientSubnet: "42.120.74.99/32"))
        #expect(said == reply(body, [("Content-Type", "application/json")]))
    }

    @Test("a client and several names are signed raw and sent escaped")
    func severalForAClient() throws {
        let questions = asked + [try question("www.taobao.com"), try question("www.taobao.com", .aaaa)]
        let request = try plain.request(for: questions, in: try .test(clientSubnet: "1.2.3.4/32"))
        #expect(
            request.url == "/v2/d?id=100000&m=0&dn=www.aliyun.com%2Cwww.taobao.com&q=4%2C6&cip=1.2.3.4&exp=1755525850"
                + "&v=1.0&s=1c6f58c6d5c25cc7f714859d67e1e408656b5c94eab61c7a29829e3efc4835cc")
        #expect(try plain.questions(from: request) == questions)
    }

    @Test("a request as the vendor's client for Node signs it: with its own parameters, without v")
    func signedByOthers() throws {
        let url =
            "/v2/d?dn=www.aliyun.com&id=100000&m=0&q=4&exp=1755525850&sdns-level=vip&sid=x&net=wifi"
            + "&s=9bf9731544b75030160268724f9dc3aaeeaf8bc3a64e5d471f3c372307937106"
        #expect(try plain.questions(from: HTTPRequest(url: url)) == [asked[0]])
    }

    @Test("AES-CBC hides the question behind the vector, and the signature is over what is sent")
    func requestCBC() throws {
        let request = try cbc.request(for: asked)
        #expect(
            request.url == "/v2/d?id=100000&m=1&enc=101112131415161718191a1b1c1d1e1fcc2292d675ae8f1f0961a45358ccc07c"
                + "e539890b51e4583faef6ead2505affa253603ae192758e45c28c29daab9b644a&exp=1755525850&v=1.0"
                + "&s=2211189918076bb7ff68482c1d2f3cf26061b5482480b45ca7d8279c9b929b59")
        #expect(try cbc.questions(from: request) == asked)
    }

    @Test("raw exchange A3: AES-GCM, with the first 12 bytes of the nonce")
    func exchangeA3() throws {
        let request = try gcm.request(for: asked, in: withGCMVector)
        #expect(
            request.url == "/v2/d?id=100000&m=2&enc=202122232425262728292a2bbbd776caa4ca5b7ecc3fa1b51da6ed0ba69f16f1eb"
                + "7406c61641fd35936fdb793533396057573455a1be952f66c9412628&exp=1755525850&v=1.0"
                + "&s=16fc6c6714eca36487bba0bd2cf902f1c268f9060e6912944c7f68bd52a3144b")
        #expect(try gcm.questions(from: request) == asked)
    }

    @Test("the client's address is encrypted with the question")
    func encryptedClient() throws {
        let request = try gcm.request(for: asked, in: try .test(clientSubnet: "1.2.3.0/24"))
        #expect(!request.url.contains("cip"))
        // {"dn":"www.aliyun.com","q":"4,6","cip":"1.2.3.0"} has 49 bytes.
        #expect(URLQuery.value(of: "enc", in: request.url)?.utf8.count == 2 * (12 + 49 + 16))
        #expect(try gcm.questions(from: request) == asked)
    }

    // MARK: replies

    private static let sealedCBC = """
        EBESExQVFhcYGRobHB0eH6qNbVMP0s5xaBTpLtQynQ8uolDSNVJvQ4qqYYS/YODe++xx71geOO7s9cyc1Th9jilyIxyt20Ox98cfQLtUAHF2\
        4VMJjgWicw14rErZNdbNr8z4DPr5JWxr9hyPSBE4yuWFrZev0CipOk3bqORSpH8ssEGmiGpNjJXp+UQMNVzoQ6Maa1sAm+Mqm8D91s1LYY+S\
        bczke6ErNilhbqqKV903xH5W1E0srlVRug6RnwBU
        """
    private static let sealedGCM = """
        ICEiIyQlJicoKSoru9dxzfbSQyuPeqHlQ/+6SfyfTKekegiFCRCwctUwz2ET/xDkzwbjJ4Ir17P2H8d/rl50iOCVuLdiLPKI2bRz/FX1/FZA\
        Wq3D6LB8MwNxSVo3VbIVS0nPqEFzOP0XzGzhHnL/4myuAvwojwWwa0xywVGtSkbbpZqUjUP3o7Nbct3rfGZhgUzRYhaf7uEWRhOmNcCXcXdm\
        NlNAPQL+8QzVt+hjKQHEk0z/wee/crn1+dU=
        """

    @Test("the vectors of encrypted replies are heard, and said, byte for byte; mode may be a string")
    func sealedReplies() throws {
        let records = [
            try record("www.aliyun.com", .a, 60, "192.0.2.10"), try record("www.aliyun.com", .a, 60, "192.0.2.11"),
        ]
        let answers = [
            Resolution.answer(Answer(records: records)), .answer(Answer(negative: .noData, ttlSeconds: 300)),
        ]
        let cases: [(AliCloudV2, String, String, UInt8)] = [
            (cbc, "1", AliCloudV2Tests.sealedCBC, 0x10), (gcm, "2", AliCloudV2Tests.sealedGCM, 0x20),
        ]
        for (dialect, mode, sealed, first) in cases {
            let body = "{\"code\":\"success\",\"mode\":\(mode),\"data\":\"\(sealed)\"}"
            let expected = ["192.0.2.10 192.0.2.11 60", "noData 300"]
            #expect(dialect.heard(body, asked) == expected)
            #expect(dialect.heard(body.replacing("\"mode\":\(mode)", with: "\"mode\":\"\(mode)\""), asked) == expected)
            let context = try DialectContext.test(clientSubnet: "42.120.74.99/32", nonce: Array(first..<first + 16))
            #expect(dialect.reply(to: asked, with: answers, in: context).body == Array(body.utf8))
        }
    }

    @Test("a reply in another mode than the request's is garbage, in every combination")
    func modes() {
        let data = #"{"answers":[{"dn":"www.aliyun.com","v4":{"ips":["192.0.2.10"],"ttl":60}}]}"#
        let bodies = [
            "0": data, "1": "\"\(AliCloudV2Tests.sealedCBC)\"", "2": "\"\(AliCloudV2Tests.sealedGCM)\"",
        ]
        for (dialect, own) in [(plain, "0"), (cbc, "1"), (gcm, "2")] {
            for mode in ["0", "1", "2", "3", "null", "-1"] {
                for (form, data) in bodies.sorted(by: { $0.key < $1.key }) {
                    let body = "{\"code\":\"success\",\"mode\":\(mode),\"data\":\(data)}"
                    let isRight = mode == own && form == own
                    #expect((dialect.heard(body, [asked[0]]) == ["garbage"]) != isRight, "\(own) \(mode) \(form)")
                }
            }
        }
    }

    @Test("one changed bit of an encrypted reply is garbage, and so is another key's")
    func forged() throws {
        let other = try AliCloudV2(
            url: "", account: "100000", secret: AliCloudV2Tests.secret,
            cipher: .gcm("ffffffffffffffffffffffffffffffff"))
        let body = "{\"code\":\"success\",\"mode\":2,\"data\":\"\(AliCloudV2Tests.sealedGCM)\"}"
        #expect(other.heard(body, asked) == ["garbage", "garbage"])
        for index in stride(from: 0, to: AliCloudV2Tests.sealedGCM.utf8.count - 4, by: 3) {
            var characters = Array(AliCloudV2Tests.sealedGCM.utf8)
            characters[index] = characters[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            let changed = String(decoding: characters, as: UTF8.self)
            let body = "{\"code\":\"success\",\"mode\":2,\"data\":\"\(changed)\"}"
            #expect(gcm.heard(body, asked) == ["garbage", "garbage"], "character \(index)")
        }
    }

    @Test(
        "what there is of a name and family, and why there is nothing",
        arguments: [
            (
                #""v4":{"ips":["192.0.2.10"],"ttl":60},"v6":{"ips":["2400:3200::1"],"ttl":70}"#,
                ["192.0.2.10 60", "2400:3200::1 70"]
            ),
            (#""v4":{"ips":["192.0.2.10"],"ttl":60,"extra":{"a":[1]}}"#, ["192.0.2.10 60", "wrongQuestion"]),
            (
                #""v4":{"ips":[],"ttl":9,"no_ip_code":"DomainNotExist"},"#
                    + #""v6":{"ips":[],"ttl":8,"no_ip_code":"RRNotExist"}"#,
                ["noSuchName 9", "noData 8"]
            ),
            (
                #""v4":{"ips":[],"ttl":0,"no_ip_code":"NewReason"},"v6":{"ips":[]}"#,
                ["ambiguousEmpty 60", "ambiguousEmpty 60"]
            ),
            (#""v4":{"no_ip_code":"DomainNotExist"},"v6":{"ttl":60}"#, ["noSuchName 60", "garbage"]),
            (
                #""v4":{"ips":["192.0.2.1"],"ttl":"9"},"v6":{"ips":[],"ttl":9,"no_ip_code":"DomainNotExist"}"#,
                ["192.0.2.1 9", "garbage"]
            ),
            (
                #""v4":{"ips":["192.0.2.1"],"ttl":9,"no_ip_code":"DomainNotExist"},"v6":null"#,
                ["garbage", "wrongQuestion"]
            ),
            (
                #""v4":{"ips":["2001:db8::1"],"ttl":9},"v6":{"ips":["x","2001:db8::2"],"ttl":-1}"#,
                ["garbage", "2001:db8::2 60"]
            ),
        ])
    func families(text: String, expected: [String]) {
        let body =
            #"{"code":"success","mode":0,"data":{"cip":"42.120.74.99","answers":[{"dn":"WWW.aliyun.com",\#(text)}]}}"#
        #expect(plain.heard(body, asked) == expected)
    }

    @Test("of several names each gets its own, the first that is said; what is missing fails alone")
    func batch() throws {
        let questions = try ["a.example", "b.example", "c.example"].map { try question($0) }
        let body = #"""
            {"code":"success","mode":"0","data":{"answers":[{"dn":"c.example.","v4":{"ips":["192.0.2.3"],"ttl":3}},
            {"dn":"x.example","v4":{"ips":["6.6.6.6"],"ttl":1}},{"dn":"..","v4":{"ips":["6.6.6.6"],"ttl":1}},
            {"dn":"A.example","v4":{"ips":["192.0.2.1"],"ttl":1}},{"dn":"a.example","v4":{"ips":["6.6.6.6"],"ttl":1}}]}}
            """#
        #expect(plain.heard(body, questions) == ["192.0.2.1 1", "wrongQuestion", "192.0.2.3 3"])
    }

    @Test("an error is known by its code, whatever the status")
    func errors() {
        for status in [200, 400, 401, 403] {
            let refusal = reply(#"{"code":"InvalidAccount"}"#, status: status)
            #expect(plain.heard(refusal, [asked[0]]) == [#"account("InvalidAccount")"#])
        }
        #expect(plain.heard(#"{"code":"SignatureExpired"}"#, [asked[0]]) == ["clock"])
        #expect(plain.heard(#"{"code":"Unheard","mode":0}"#, [asked[0]]) == ["garbage"])
    }

    // MARK: keys and the server's side

    @Test(
        "a key that can't be one is found at once, and never repeated",
        arguments: [
            ("", key, "key-file"), ("a0b", key, "key-file"), ("secret!!", key, "key-file"),
            (secret, "", "cipher-key-file"),
            (secret, "00", "cipher-key-file"), (secret, key + "00", "cipher-key-file"),
            (secret, "zz0102030405060708090a0b0c0d0e0f", "cipher-key-file"),
        ])
    func unusableKeys(secret: String, key: String, name: String) {
        for cipher in [AliCloudEncryption.cbc(key), .gcm(key)] {
            let error = #expect(throws: DialectFault.self) {
                try AliCloudV2(url: "", account: "100000", secret: secret, cipher: cipher)
            }
            #expect(error?.text.hasPrefix("\(name): found something else; allowed: ") == true)
            #expect(error?.text.hasSuffix("hexadecimal digits") == true)
        }
    }

    @Test("every signed parameter, changed, is a wrong signature; the others are not signed")
    func signedSet() throws {
        let url = try plain.request(for: asked).url
        let changes = [
            ("www.aliyun.com", "www.aliyun.cn"), ("q=4%2C6", "q=4"), ("exp=1755525850", "exp=1755525851"),
            ("v=1.0", "v=1.1"), ("&s=5", "&s=6"), ("&v=", "&cip=1.2.3.4&v="), ("&v=", "&sdns-a=b&v="),
            ("&v=", "&tags=a&v="),
        ]
        for (from, to) in changes {
            #expect(throws: DialectError.account("InvalidSignature"), "\(to)") {
                try plain.questions(from: HTTPRequest(url: url.replacing(from, with: to)))
            }
        }
        for same in ["&net=wifi&v=", "&cip=&v=", "&sdk=x%2Cy&v="] {
            #expect(try plain.questions(from: HTTPRequest(url: url.replacing("&v=", with: same))) == asked)
        }
    }

    @Test("the server refuses as the vendor does")
    func serverRefuses() throws {
        let own = try plain.request(for: asked).url
        let sealed = try gcm.request(for: asked).url
        let six =
            "/v2/d?id=100000&m=0&dn=a%2Cb%2Cc%2Cd%2Ce%2Cf&exp=1755525850"
            + "&s=12ddecc39f7faa1c36c1847e78734ff2b5b622c8d271283c401d535daaedcf22"
        let late = try DialectContext.test(unixSeconds: 1_755_525_850)
        let early = try DialectContext.test(unixSeconds: 1_755_439_449)
        let cases: [(AliCloudV2, String, DialectContext, Int, String)] = [
            (plain, own.replacing("id=100000", with: "id=1"), .test, 403, "AccountNotExists"),
            (plain, own.replacing("id=100000&", with: ""), .test, 400, "MissingArgument"),
            (plain, own.replacing("m=0", with: "m=1"), .test, 400, "MissingArgument"),
            (plain, String(own.prefix { $0 != "s" } + "x=1"), .test, 403, "UnsignedInterfaceDisabled"),
            (plain, own, late, 403, "SignatureExpired"), (plain, own, early, 403, "InvalidDuration"),
            (plain, six, .test, 400, "LimitExceeded"), (cbc, sealed, .test, 400, "MissingArgument"),
            (gcm, sealed.replacing("enc=", with: "enc=00"), .test, 403, "InvalidSignature"),
        ]
        for (dialect, url, context, status, code) in cases {
            let error = #expect(throws: DialectError.self, "\(url)") {
                try dialect.questions(from: HTTPRequest(url: url), in: context)
            }
            let refusal = dialect.reply(to: try #require(error))
            #expect(
                refusal.status == status && String(decoding: refusal.body, as: UTF8.self) == "{\"code\":\"\(code)\"}")
        }
        let post = #expect(throws: DialectError.self) {
            try plain.questions(from: HTTPRequest(method: .post, url: own))
        }
        #expect(plain.reply(to: try #require(post)).status == 405)
    }
}
