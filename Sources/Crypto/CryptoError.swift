// Why OpenSSL refused, from its error queue. The queue holds reasons, file names and numbers; no key and no plain byte
// may ever be added to them here.

import COpenSSL

package struct CryptoError: Error, Equatable, Sendable {
    /// What was attempted, and the reason if OpenSSL gave one: "DES-ECB decryption: bad decrypt".
    package let text: String

    init(_ text: String) {
        self.text = text
    }

    init(takingQueueAfter attempt: String) {
        text = CryptoError.takeReason().map { "\(attempt): \($0)" } ?? attempt
    }

    /// Takes this thread's queue of errors, which must hold nothing for the next caller. The first is the cause. Nil if
    /// there is none, or OpenSSL has no word for it.
    static func takeReason() -> String? {
        let code = ERR_get_error()
        ERR_clear_error()
        guard code != 0 else { return nil }
        if let reason = unsafe ERR_reason_error_string(code) { return unsafe String(cString: reason) }
        // For an error of the system there is a whole line only: "error:80000002:system library::No such file ...".
        var line = [UInt8](repeating: 0, count: 256)
        unsafe line.withUnsafeMutableBytes { bytes in
            unsafe ERR_error_string_n(code, bytes.bindMemory(to: CChar.self).baseAddress, bytes.count)
        }
        let reason = line.prefix { $0 != 0 }.split(separator: UInt8(ascii: ":")).last ?? []
        return String(decoding: reason, as: UTF8.self)
    }
}
