// Returns the registrable domain of a name by the Public Suffix List: the part that one owner has registered.

import CPSL
package import DNSWire

/// Owns one loaded list.
// libpsl only reads a loaded list, so threads may share it; only `deinit` frees it.
@safe package final class PublicSuffixList: @unchecked Sendable {
    private let list: OpaquePointer?

    private init(_ list: OpaquePointer?) {
        unsafe self.list = list
    }

    deinit { unsafe psl_free(list) }

    /// The list that is compiled into libpsl; `psl_free` ignores it. Needs no file.
    package static let builtIn = unsafe PublicSuffixList(psl_builtin())

    /// Loads Debian's `publicsuffix` file where it is newer than the list in libpsl, else the latter.
    package static func installed() -> PublicSuffixList { unsafe PublicSuffixList(psl_latest(nil)) }

    /// Returns the public suffix of `name` with one label more: `example.co.uk` for `www.example.co.uk`. A name that is
    /// a public suffix itself is returned as it is. A suffix that no rule lists has one label (rule `*` of
    /// publicsuffix.org).
    package func registrableDomain(of name: Name) -> Name {
        let found = unsafe PublicSuffixList.hostname(of: name).withCString { text -> Int? in
            guard let domain = unsafe psl_registrable_domain(list, text) else { return nil }
            return unsafe String(cString: domain).utf8.count { $0 == UInt8(ascii: ".") } + 1
        }
        guard let labels = found else { return name }
        return name.last(labels)
    }

    /// Returns whether others than the owner of `name` register names under it, as under `co.uk` and `github.io`. True
    /// for one label.
    package func isPublicSuffix(_ name: Name) -> Bool {
        unsafe PublicSuffixList.hostname(of: name).withCString { unsafe psl_is_public_suffix(list, $0) } == 1
    }

    /// Lower-case letters, with one dot between labels whatever is in them.
    private static func hostname(of name: Name) -> String {
        var text = ""
        for label in name.labels {
            if !text.isEmpty { text += "." }
            for byte in label {
                let isPlain = byte > 0x20 && byte < 0x7F && byte != UInt8(ascii: ".")
                text.unicodeScalars.append(Unicode.Scalar(isPlain ? byte.lowercased : UInt8(ascii: "_")))
            }
        }
        return text
    }
}
