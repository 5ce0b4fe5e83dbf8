// Tencent's enterprise service over HTTP: names and replies are DES- or AES-encrypted and hexadecimal (providers.md
// 1.2 to 1.4). A reply that fails to decrypt is an error and must never count as empty.

import Crypto
package import DNSWire
package import Settings

package struct DNSPodEncrypted: AddressDialect {
    package enum Algorithm: String, Sendable {
        case des
        case aes
    }

    private let url: String
    private let account: String
    private let algorithm: Algorithm
    private let key: [UInt8]
    private let expires: Bool
    private var encryptsClient: Bool

    /// - Parameters:
    ///   - account: the authorisation id.
    ///   - key: the text shown in the console; each algorithm has its own key.
    ///   - expires: sends an expiry time with the names, as newer clients do. The server's handling is UNCONFIRMED.
    ///   - encryptsClient: encrypts `ip` like `dn`, as the vendor's documents say; its clients send it in clear
    ///     (providers.md, correction C5).
    package init(
        url: String, account: String, key: String, cipher: Algorithm, expires: Bool = false,
        encryptsClient: Bool = false
    ) {
        self.url = url
        self.account = account
        algorithm = cipher
        // The key is padded as the vendor's clients do: DES with zero bytes, AES with the digit 0.
        let (length, filler): (Int, UInt8) = cipher == .des ? (8, 0) : (16, UInt8(ascii: "0"))
        let bytes = Array(key.utf8.prefix(length))
        self.key = bytes + Array(repeating: filler, count: length - bytes.count)
        self.expires = expires
        self.encryptsClient = encryptsClient
    }

    package init(_ provider: Settings.Provider, key: String?, cipherKey: String?) throws(DialectFault) {
        let isDES = provider.dialect == .dnspodDES
        guard !isDES || Cipher.desIsAvailable else {
            throw DialectFault(
                "dialect dnspod-des: OpenSSL has no DES here; install its legacy provider (legacy.so, on Debian "
                    + "in the package libssl3) or use dnspod-aes")
        }
        self.init(
            url: provider.url.path, account: provider.account ?? "", key: key ?? "", cipher: isDES ? .des : .aes,
            expires: provider.expiring, encryptsClient: provider.clientSubnetForm == .encrypted)
    }

    package func nodeListing(_ provider: Settings.Provider) -> (any NodeListing)? {
        DNSPodNodes(url: url, .encrypted(self))
    }

    package static func inLab(_ request: HTTPRequest, at path: Substring) -> DNSPodEncrypted? {
        guard path == "/d", let algorithm = URLQuery.value(of: "alg", in: request.url) else { return nil }
        let (cipher, key): (Algorithm, String) = algorithm == "aes" ? (.aes, "0123456789abcdef") : (.des, "dnspodpass")
        return DNSPodEncrypted(url: "", account: "1234", key: key, cipher: cipher)
    }

    package let maxNames = DNSPodEnterprise.maxNames

    package func request(
        for names: [String], of families: AddressFamilies, in context: DialectContext
    ) throws(DialectError) -> HTTPRequest {
        let list = DNSPodEnterprise.list(names, expires: expires, in: context)
        // Without OpenSSL's legacy provider the system has no DES, so the question cannot be sent.
        guard let digits = encrypt(list, in: context) else { throw .unsupported }
        let client = context.clientAddress.flatMap { encryptsClient ? encrypt($0, in: context) : $0 }
        let parameters = DNSPodEnterprise.parameters(
            dn: digits, account: account, of: families, credential: (name: "alg", value: algorithm.rawValue),
            client: client)
        return HTTPRequest(url: URLQuery.append(parameters, to: url))
    }

    /// It is UNCONFIRMED whether an empty reply is an empty body or an encrypted empty text, and where the text ends.
    /// Both forms are accepted, and so is a bare "0".
    package func reading(
        of reply: HTTPReply, isAlone: Bool
    ) throws(DialectError) -> (Question) throws(DialectError) -> Answer {
        let text = try text(of: reply)
        return { (question) throws(DialectError) in try text.answer(to: question, isAlone: isAlone) }
    }

    package func clientAddress(in reply: HTTPReply) -> Address? { (try? text(of: reply))?.client }

    private func text(of reply: HTTPReply) throws(DialectError) -> DNSPodText {
        DNSPodText(try plainText(try DNSPodEnterprise.acceptedBody(of: reply, expires: expires)))
    }

    /// Decrypts a whole body, with padding around it. An empty body and a bare "0" are plain text already.
    func plainText(_ body: [UInt8]) throws(DialectError) -> [UInt8] {
        let digits = DNSPodText.trimmed(DNSPodEncrypted.withoutPadding(body)[...]) ?? []
        guard !digits.isEmpty, !digits.elementsEqual(DNSPodText.nothing.utf8) else { return Array(digits) }
        return DNSPodEncrypted.withoutPadding(try decrypt(digits))
    }

    package var clientForms: [ClientForm] {
        [("client address in clear", false), ("client address encrypted", true)].map { name, encryptsClient in
            var form = self
            form.encryptsClient = encryptsClient
            return ClientForm(name: name, dialect: form)
        }
    }

    package func questions(
        from request: HTTPRequest, in context: DialectContext
    ) throws(DialectError) -> [Question] {
        guard URLQuery.value(of: "id", in: request.url) == account else { throw .account("id") }
        let requested = URLQuery.value(of: "alg", in: request.url) ?? Algorithm.des.rawValue
        guard requested == algorithm.rawValue else { throw .account("alg") }
        let families = try DNSPodEnterprise.families(in: request)
        guard let digits = URLQuery.value(of: "dn", in: request.url) else { throw .garbage("no parameter dn") }
        let list = String(decoding: try decrypt(digits.utf8), as: UTF8.self)
        return try questions(about: try DNSPodEnterprise.names(in: list, at: context), of: families)
    }

    package func reply(
        to questions: [Question], with resolutions: [Resolution], in context: DialectContext
    ) -> HTTPReply {
        guard let digits = encrypt(DNSPodEnterprise.text(questions, resolutions), in: context) else {
            return HTTPReply(status: 500)
        }
        return DNSPodText.reply(digits)
    }

    package func reply(to error: DialectError) -> HTTPReply { DNSPodEnterprise.reply(to: error) }

    /// The parameters of a request for the list of service addresses.
    var identification: [(name: String, value: String)] {
        [(name: "id", value: account), (name: "alg", value: algorithm.rawValue)]
    }

    // MARK: ciphers

    private static let ivBytes = 16

    /// Removes the zero bytes that fill the last block, and line ends and spaces before them.
    private static func withoutPadding(_ text: [UInt8]) -> [UInt8] {
        let isPadding = { (byte: UInt8) in [0x00, 0x0A, 0x0D, 0x20].contains(byte) }
        return Array(text.reversed().drop(while: isPadding).reversed())
    }

    /// Returns the encrypted text; nil if the system lacks the cipher.
    private func encrypt(_ text: String, in context: DialectContext) -> String? {
        let plain = Array(text.utf8)
        switch algorithm {
        case .des: return (try? Cipher.desECB(encrypt: plain, key: key)).map(Hex.encode)
        case .aes:
            let nonce = context.makeNonce()
            let cipher = try? Cipher.aesCBC(encrypt: plain, key: key, iv: nonce)
            return cipher.map { Hex.encode(nonce + $0) }
        }
    }

    private func decrypt(_ digits: some Collection<UInt8>) throws(DialectError) -> [UInt8] {
        guard let bytes = Hex.decode(digits) else { throw .garbage("not hexadecimal digits") }
        let plain: [UInt8]
        do throws(CryptoError) {
            switch algorithm {
            case .des: plain = try Cipher.desECB(decrypt: bytes, key: key)
            case .aes:
                let iv = Array(bytes.prefix(DNSPodEncrypted.ivBytes))
                plain = try Cipher.aesCBC(decrypt: Array(bytes.dropFirst(DNSPodEncrypted.ivBytes)), key: key, iv: iv)
            }
        } catch {
            throw .garbage(error.text)
        }
        // A wrong key yields valid padding in one of 256 cases, but hardly ever printable text as well.
        guard plain.allSatisfy({ $0 < 0x7F && ($0 >= 0x20 || [0x00, 0x09, 0x0A, 0x0D].contains($0)) }) else {
            throw .garbage("\(algorithm.rawValue) decryption: no text")
        }
        return plain
    }
}
