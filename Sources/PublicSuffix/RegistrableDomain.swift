// Derives the registrable domain of a name from the Public Suffix List.

import CPSL
package import DNSWire

extension Name {
    /// The public suffix and one more label: `example.co.uk` for `www.example.co.uk`. A public suffix is returned
    /// unchanged. An unlisted suffix has one label (rule `*` of publicsuffix.org).
    package var registrableDomain: Name {
        let found = unsafe hostname.withCString { text -> Int? in
            guard let domain = unsafe psl_registrable_domain(PublicSuffixList.installed.list, text) else { return nil }
            return unsafe String(cString: domain).utf8.count { $0 == UInt8(ascii: ".") } + 1
        }
        return found.map { last($0) } ?? self
    }

    /// True if third parties register names under it, as under `co.uk` and `github.io`. True for a single label.
    package var isPublicSuffix: Bool {
        unsafe hostname.withCString { unsafe psl_is_public_suffix(PublicSuffixList.installed.list, $0) } == 1
    }

    /// The name in lower case with unprintable bytes and dots inside labels replaced by "_".
    private var hostname: String {
        var text = ""
        for label in labels {
            if !text.isEmpty { text += "." }
            for byte in label {
                let isPlain = byte > 0x20 && byte < 0x7F && byte != UInt8(ascii: ".")
                text.unicodeScalars.append(Unicode.Scalar(isPlain ? byte.lowercased : UInt8(ascii: "_")))
            }
        }
        return text
    }
}

// libpsl only reads a loaded list, so threads can share it.
@safe private struct PublicSuffixList: @unchecked Sendable {
    let list: OpaquePointer?

    /// Debian's `publicsuffix` file if it is newer than libpsl's list, else libpsl's. Loaded once.
    static let installed = unsafe PublicSuffixList(list: psl_latest(nil))
}
