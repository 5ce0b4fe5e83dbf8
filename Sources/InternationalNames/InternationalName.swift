// Converts internationalised domain names to the ASCII names of DNS, URLs and TLS.

import CIDN2

package enum InternationalName {
    package struct Refusal: Error {
        /// libidn2's error text.
        let reason: String
    }

    /// Returns ASCII unchanged. Converts all else to A-labels (RFC 5891) after UTS 46 mapping of case, width and dots
    /// (non-transitional). The Bidi rule (RFC 5893) is not applied across labels.
    package static func ascii(_ text: String) throws(Refusal) -> String {
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return text }
        // libidn2 would read only the text before the NUL.
        guard !text.utf8.contains(0) else { throw Refusal(reason: "a name can't hold a NUL") }
        var result: UnsafeMutablePointer<UInt8>?
        let flags = Int32(IDN2_NFC_INPUT.rawValue | IDN2_NONTRANSITIONAL.rawValue)
        let code = unsafe idn2_lookup_u8(smallSharpS(text), &result, flags)
        defer { unsafe idn2_free(result) }
        guard code == IDN2_OK.rawValue, let name = unsafe result else {
            throw Refusal(reason: unsafe String(cString: idn2_strerror(code)))
        }
        return unsafe String(cString: name)
    }

    /// Since Unicode 15.1, UTS 46 maps the capital sharp s to the small one; older libraries map it to "ss".
    private static func smallSharpS(_ text: String) -> String {
        var scalars = String.UnicodeScalarView()
        scalars.append(contentsOf: text.unicodeScalars.map { $0 == "\u{1E9E}" ? "\u{DF}" : $0 })
        return String(scalars)
    }

    /// Returns the remedy for an invalid name; nil if the name has an ASCII form.
    package static func remedy(_ text: String) -> String? {
        do throws(Refusal) {
            _ = try ascii(text)
            return nil
        } catch {
            return "IDNA2008 refuses it: \(error.reason)"
        }
    }
}
