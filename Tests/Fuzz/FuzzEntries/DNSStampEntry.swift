// Bytes as the content of a DNS stamp, and as its text. A stamp with a URL is read again as the same.

import DNSWire
import Settings

extension FuzzEntry {
    package static let dnsStamp = FuzzEntry(name: "DNSStamp") { bytes in
        _ = try? DNSStamp(DNSStamp.scheme + String(decoding: bytes, as: UTF8.self))
        guard let stamp = try? DNSStamp(DNSStamp.scheme + Base64.url.encode(bytes)) else { return }
        precondition(stamp.url.isSecure && Settings.ProviderURL(stamp.url.description) == stamp.url, "a URL")
    }
}
