// An error from OpenSSL's error queue. The text holds reasons, file names and numbers; never add keys or plaintext.

import COpenSSL

package struct CryptoError: Error, Equatable, Sendable {
    /// The operation, and OpenSSL's reason if there is one: "DES-ECB decryption: bad decrypt".
    package let text: String

    init(_ text: String) {
        self.text = text
    }

    init(takingQueueAfter attempt: String) {
        text = CryptoError.takeReason().map { "\(attempt): \($0)" } ?? attempt
    }

    /// Clears this thread's error queue, so that no error remains for the next caller, and returns the first error,
    /// the cause. Returns nil if there is none or OpenSSL has no text for it.
    static func takeReason() -> String? {
        let code = ERR_get_error()
        ERR_clear_error()
        guard code != 0 else { return nil }
        if let reason = unsafe ERR_reason_error_string(code) { return unsafe String(cString: reason) }
        // For system errors OpenSSL has only a whole line: "error:80000002:system library::No such file ...".
        var line = [UInt8](repeating: 0, count: 256)
        unsafe line.withUnsafeMutableBytes { bytes in
            unsafe ERR_error_string_n(code, bytes.bindMemory(to: CChar.self).baseAddress, bytes.count)
        }
        let reason = line.prefix { $0 != 0 }.split(separator: UInt8(ascii: ":")).last ?? []
        return String(decoding: reason, as: UTF8.self)
    }
}
