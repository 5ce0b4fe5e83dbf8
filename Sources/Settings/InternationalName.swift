// Names in other letters than ASCII, as people write them: turned into the names that DNS, URLs and TLS carry.

import CIDN2

enum InternationalName {
    struct Refusal: Error {
        /// In libidn2's words.
        let reason: String
    }

    /// ASCII stays as it is, whatever it is. All else becomes A-labels (RFC 5891), with letters of other widths and
    /// cases and other dots replaced first (UTS 46, non-transitional).
    static func ascii(_ text: String) throws(Refusal) -> String {
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return text }
        // The library would take what stands before it for the whole.
        guard !text.utf8.contains(0) else { throw Refusal(reason: "a name can't hold a NUL") }
        var result: UnsafeMutablePointer<UInt8>?
        let flags = Int32(IDN2_NFC_INPUT.rawValue | IDN2_NONTRANSITIONAL.rawValue)
        let code = unsafe idn2_lookup_u8(text, &result, flags)
        defer { unsafe idn2_free(result) }
        guard code == IDN2_OK.rawValue, let name = unsafe result else {
            throw Refusal(reason: unsafe String(cString: idn2_strerror(code)))
        }
        return unsafe String(cString: name)
    }

    /// What a complaint about a name adds; nil if the name has an ASCII form.
    static func remedy(_ text: String) -> String? {
        do throws(Refusal) {
            _ = try ascii(text)
            return nil
        } catch {
            return "IDNA2008 refuses it: \(error.reason)"
        }
    }
}
