// Derives the registrable domain of a name from the Public Suffix List.

import CPSL
package import DNSWire

extension Name {
    /// The public suffix and one more label: `example.co.uk` for `www.example.co.uk`. A public suffix is returned
    /// unchanged. An unlisted suffix has one label (rule `*` of publicsuffix.org).
    package var registrableDomain: Name {
        let dot = CChar(UInt8(ascii: "."))
        let found = unsafe hostname.withUnsafeBufferPointer { text -> Int? in
            guard let domain = unsafe psl_registrable_domain(PublicSuffixList.installed.list, text.baseAddress) else {
                return nil
            }
            var (at, labels) = unsafe (domain, 1)
            while unsafe at.pointee != 0 {
                if unsafe at.pointee == dot { labels += 1 }
                unsafe at += 1
            }
            return labels
        }
        return found.map { last($0) } ?? self
    }

    /// True if third parties register names under this name, as under `co.uk` and `github.io`. True for a single label.
    package var isPublicSuffix: Bool {
        unsafe psl_is_public_suffix(PublicSuffixList.installed.list, hostname) == 1
    }

    /// True if the list has this name. False for a single label that is no top-level domain, such as `lan`.
    package var isListedPublicSuffix: Bool {
        unsafe psl_is_public_suffix2(PublicSuffixList.installed.list, hostname, PSL_TYPE_ANY | PSL_TYPE_NO_STAR_RULE)
            == 1
    }

    /// The name as a C string in lower case, with unprintable bytes and dots inside labels replaced by "_".
    private var hostname: [CChar] {
        guard !isRoot else { return [0] }
        var text: [CChar] = []
        text.append(addingCapacity: wire.count - 1) { text in
            let bytes = wire.span
            // The length byte of a label stands where the dot will, except the first; the root label ends the string.
            var labelEnd = 1 + Int(bytes[0])
            for index in 1..<bytes.count {
                let byte = bytes[index]
                if index == labelEnd {
                    labelEnd += 1 + Int(byte)
                    text.append(byte == 0 ? 0 : CChar(UInt8(ascii: ".")))
                } else {
                    let isPlain = byte > 0x20 && byte < 0x7F && byte != UInt8(ascii: ".")
                    text.append(CChar(isPlain ? byte.lowercased : UInt8(ascii: "_")))
                }
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
