// One encryption or decryption. Its OpenSSL context is freed and the key wiped on every path.

import COpenSSL

struct CipherRun: ~Copyable {
    enum Algorithm: String {
        case aesCBC = "AES-128-CBC"
        case aesGCM = "AES-128-GCM"
        case desECB = "DES-ECB"

        var keyBytes: Int { self == .desECB ? 8 : 16 }

        var ivBytes: Int {
            switch self {
            case .aesCBC: 16
            case .aesGCM: 12
            case .desECB: 0
            }
        }

        /// The cipher, borrowed from OpenSSL for AES and from `LegacyCiphers` for DES.
        fileprivate var cipher: OpaquePointer? {
            get throws(CryptoError) {
                switch self {
                case .aesCBC: unsafe EVP_aes_128_cbc()
                case .aesGCM: unsafe EVP_aes_128_gcm()
                case .desECB: unsafe try LegacyCiphers.desECB()
                }
            }
        }
    }

    /// The raw values are OpenSSL's.
    enum Direction: Int32, CustomStringConvertible {
        case decryption = 0
        case encryption = 1

        var description: String {
            switch self {
            case .decryption: "decryption"
            case .encryption: "encryption"
            }
        }
    }

    static let tagBytes = 16
    /// Bound on the input: far above the bodies encrypted here (64 KiB) and far below OpenSSL's integer limit.
    private static let maxInputBytes = 1 << 24
    /// The largest block size of these algorithms.
    private static let maxBlockBytes = 16

    private let context: CipherContext
    private let attempt: String

    init(_ algorithm: Algorithm, _ direction: Direction, key: [UInt8], iv: [UInt8]) throws(CryptoError) {
        let attempt = "\(algorithm.rawValue) \(direction)"
        guard key.count == algorithm.keyBytes else {
            throw CryptoError("\(attempt): a key of \(key.count) bytes instead of \(algorithm.keyBytes)")
        }
        guard iv.count == algorithm.ivBytes else {
            throw CryptoError("\(attempt): an IV of \(iv.count) bytes instead of \(algorithm.ivBytes)")
        }
        let cipher = try unsafe algorithm.cipher
        ERR_clear_error()
        let context = try CipherContext()
        guard unsafe EVP_CipherInit_ex2(context.pointer, cipher, key, iv, direction.rawValue, nil) == 1 else {
            throw CryptoError(takingQueueAfter: attempt)
        }
        self.context = context
        self.attempt = attempt
    }

    /// Processes the whole input; call once.
    func output(of input: [UInt8]) throws(CryptoError) -> [UInt8] {
        guard input.count <= CipherRun.maxInputBytes else { throw CryptoError("\(attempt): \(input.count) bytes") }
        var output = [UInt8](repeating: 0, count: input.count + CipherRun.maxBlockBytes)
        var count: Int32 = 0
        var last = [UInt8](repeating: 0, count: CipherRun.maxBlockBytes)
        var lastCount: Int32 = 0
        ERR_clear_error()
        guard unsafe EVP_CipherUpdate(context.pointer, &output, &count, input, Int32(input.count)) == 1,
            unsafe EVP_CipherFinal_ex(context.pointer, &last, &lastCount) == 1
        else { throw CryptoError(takingQueueAfter: attempt) }
        return Array(output.prefix(Int(count)) + last.prefix(Int(lastCount)))
    }

    /// Call after `output(of:)`.
    func tag() throws(CryptoError) -> [UInt8] {
        var tag = [UInt8](repeating: 0, count: CipherRun.tagBytes)
        try control(EVP_CTRL_AEAD_GET_TAG, &tag)
        return tag
    }

    /// Call before `output(of:)`.
    func expect(tag: [UInt8]) throws(CryptoError) {
        var tag = tag
        try control(EVP_CTRL_AEAD_SET_TAG, &tag)
    }

    private func control(_ command: Int32, _ tag: inout [UInt8]) throws(CryptoError) {
        ERR_clear_error()
        guard unsafe EVP_CIPHER_CTX_ctrl(context.pointer, command, Int32(tag.count), &tag) == 1 else {
            throw CryptoError(takingQueueAfter: attempt)
        }
    }
}

@safe private struct CipherContext: ~Copyable {
    let pointer: OpaquePointer

    init() throws(CryptoError) {
        guard let pointer = unsafe EVP_CIPHER_CTX_new() else { throw CryptoError(takingQueueAfter: "cipher context") }
        unsafe self.pointer = pointer
    }

    deinit { unsafe EVP_CIPHER_CTX_free(pointer) }
}
