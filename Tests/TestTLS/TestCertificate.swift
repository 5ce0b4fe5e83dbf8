// Certificates for tests, made at run time, so that each can be wrong in one way. If OpenSSL refuses to make one, the
// test stops.

import COpenSSL

/// The contents of a certificate. The default is valid, for a server without a name.
struct CertificateTerms {
    var subject = "example server"
    /// The names in OpenSSL's syntax: "DNS:www.example.com, IP:192.0.2.1". Empty: none.
    var names = ""
    var notBefore = TestCertificate.now - 86_400
    var notAfter = TestCertificate.now + 86_400
    var isAuthority = false
    var usage = "serverAuth"
    var hasSHA1Signature = false
    var serial = 1
}

@safe final class TestKey {
    enum Kind {
        case p256
        case rsa(bits: Int32)
    }

    fileprivate let pointer: OpaquePointer

    init(_ kind: Kind = .p256) {
        let context: OpaquePointer?
        switch kind {
        case .p256: unsafe context = EVP_PKEY_CTX_new_from_name(nil, "EC", nil)
        case .rsa: unsafe context = EVP_PKEY_CTX_new_from_name(nil, "RSA", nil)
        }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        precondition(unsafe EVP_PKEY_keygen_init(context) == 1)
        switch kind {
        case .p256: precondition(unsafe EVP_PKEY_CTX_set_group_name(context, "P-256") == 1)
        case .rsa(let bits): precondition(unsafe EVP_PKEY_CTX_set_rsa_keygen_bits(context, bits) == 1)
        }
        var key: OpaquePointer?
        guard unsafe EVP_PKEY_generate(context, &key) == 1, let key = unsafe key else {
            preconditionFailure("no key for a test")
        }
        unsafe pointer = key
    }

    deinit { unsafe EVP_PKEY_free(pointer) }

    func use(in context: OpaquePointer) {
        precondition(unsafe SSL_CTX_use_PrivateKey(context, pointer) == 1, "the key is the certificate's")
    }
}

@safe final class TestCertificate {
    /// The time of all tests: 2026-01-01 00:00:00 UTC.
    static let now: Int64 = 1_767_225_600

    let pointer: OpaquePointer
    let key: TestKey

    /// - Parameter issuer: the issuing certificate; nil: self-signed.
    init(_ terms: CertificateTerms, key: TestKey = TestKey(), issuer: TestCertificate? = nil) {
        guard let certificate = unsafe X509_new() else { preconditionFailure("no certificate for a test") }
        unsafe pointer = certificate
        self.key = key
        unsafe X509_set_version(certificate, 2)
        unsafe ASN1_INTEGER_set(X509_get_serialNumber(certificate), terms.serial)
        let subject = unsafe X509_get_subject_name(certificate)
        unsafe X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, terms.subject, -1, -1, 0)
        unsafe X509_set_issuer_name(certificate, X509_get_subject_name((issuer ?? self).pointer))
        unsafe TestCertificate.withTime(terms.notBefore) { unsafe X509_set1_notBefore(certificate, $0) }
        unsafe TestCertificate.withTime(terms.notAfter) { unsafe X509_set1_notAfter(certificate, $0) }
        precondition(unsafe X509_set_pubkey(certificate, key.pointer) == 1)
        add(NID_subject_key_identifier, "hash", issuer)
        add(NID_authority_key_identifier, "keyid", issuer)
        add(NID_basic_constraints, terms.isAuthority ? "critical,CA:TRUE" : "CA:FALSE", issuer)
        if terms.isAuthority {
            add(NID_key_usage, "critical,keyCertSign", issuer)
        } else {
            add(NID_ext_key_usage, terms.usage, issuer)
        }
        if !terms.names.isEmpty { add(NID_subject_alt_name, terms.names, issuer) }
        let digest = unsafe terms.hasSHA1Signature ? EVP_sha1() : EVP_sha256()
        precondition(unsafe X509_sign(certificate, (issuer?.key ?? key).pointer, digest) > 0)
    }

    /// Another certificate for the same key, parsed from bytes; nil if they are invalid.
    init?(der: [UInt8], key: TestKey) {
        let certificate = unsafe der.withUnsafeBufferPointer { bytes in
            var start = bytes.baseAddress
            return unsafe d2i_X509(nil, &start, bytes.count)
        }
        ERR_clear_error()
        guard let certificate = unsafe certificate else { return nil }
        unsafe pointer = certificate
        self.key = key
    }

    deinit { unsafe X509_free(pointer) }

    var der: [UInt8] {
        var bytes = [UInt8](repeating: 0, count: Int(unsafe i2d_X509(pointer, nil)))
        unsafe bytes.withUnsafeMutableBufferPointer { bytes in
            var start = bytes.baseAddress
            _ = unsafe i2d_X509(pointer, &start)
        }
        return bytes
    }

    var pem: [UInt8] {
        let buffer = unsafe BIO_new(BIO_s_mem())
        defer { unsafe BIO_free(buffer) }
        precondition(unsafe PEM_write_bio_X509(buffer, pointer) == 1)
        var bytes = [UInt8](repeating: 0, count: unsafe BIO_ctrl_pending(buffer))
        unsafe BIO_read(buffer, &bytes, Int32(bytes.count))
        return bytes
    }

    private func add(_ kind: Int32, _ value: String, _ issuer: TestCertificate?) {
        var context = unsafe X509V3_CTX()
        unsafe X509V3_set_ctx(&context, (issuer ?? self).pointer, pointer, nil, nil, 0)
        let extra = unsafe X509V3_EXT_conf_nid(nil, &context, kind, value)
        defer { unsafe X509_EXTENSION_free(extra) }
        precondition(unsafe X509_add_ext(pointer, extra, -1) == 1, value)
    }

    private static func withTime(_ seconds: Int64, _ body: (UnsafePointer<ASN1_TIME>?) -> Int32) {
        let time = unsafe ASN1_TIME_set(nil, Int(seconds))
        defer { unsafe ASN1_TIME_free(time) }
        precondition(unsafe body(time) == 1)
    }
}
