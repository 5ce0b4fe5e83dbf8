// Returns the registrable domain of a name by the Public Suffix List: the part that one owner has registered.

import CPSL
package import DNSWire

extension Name {
    /// The public suffix with one label more: `example.co.uk` for `www.example.co.uk`. A name that is a public suffix
    /// itself is returned as it is. A suffix that no rule lists has one label (rule `*` of publicsuffix.org).
    package var registrableDomain: Name {
        let found = unsafe hostname.withCString { text -> Int? in
            guard let domain = unsafe psl_registrable_domain(PublicSuffixList.installed.list, text) else { return nil }
            return unsafe String(cString: domain).utf8.count { $0 == UInt8(ascii: ".") } + 1
        }
        return found.map { last($0) } ?? self
    }

    /// Whether others than its owner register names under it, as under `co.uk` and `github.io`. True for one label.
    package var isPublicSuffix: Bool {
        unsafe hostname.withCString { unsafe psl_is_public_suffix(PublicSuffixList.installed.list, $0) } == 1
    }

    /// Lower-case letters, with one dot between labels whatever is in them.
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

// libpsl only reads a loaded list, so threads may share it.
@safe private struct PublicSuffixList: @unchecked Sendable {
    let list: OpaquePointer?

    /// Debian's `publicsuffix` file where it is newer than the list in libpsl, else the latter. Loaded once.
    static let installed = unsafe PublicSuffixList(list: psl_latest(nil))
}
