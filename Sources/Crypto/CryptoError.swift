// Why OpenSSL refused, from its error queue. The queue holds reasons, file names and numbers; no key and no plain byte
// may ever be added to them here.

import COpenSSL

package struct CryptoError: Error, Equatable, Sendable {
    /// What was attempted, and the reason if OpenSSL gave one: "DES-ECB decryption: bad decrypt".
    package let text: String

    init(_ text: String) {
        self.text = text
    }

    /// Takes this thread's queue of errors, which must hold nothing for the next caller. The first is the cause.
    init(takingQueueAfter attempt: String) {
        let code = ERR_get_error()
        while ERR_get_error() != 0 {}
        guard code != 0, let reason = unsafe ERR_reason_error_string(code) else {
            self.init(attempt)
            return
        }
        unsafe self.init("\(attempt): \(String(cString: reason))")
    }
}
