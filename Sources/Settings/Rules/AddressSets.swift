// A rule's `nftset`: sets of the kernel's packet filter that get the addresses of its names.

import DNSWire

extension Format<AddressSetTarget> {
    /// The form of dnsmasq and SmartDNS, with the family required.
    static let addressSet = Format.text(
        allowed: "\"FAMILY#TABLE#SET\" with the family ip, ip6 or inet, such as \"inet#filter#allowed\"; \"4#\" or "
            + "\"6#\" before it limits it to A or AAAA records",
        schema: .matching("([46]#)?(ip|ip6|inet)(#[A-Za-z_][0-9A-Za-z_.-]{0,63}){2}"),
        remedy: { text in
            let hasPrefix = text.hasPrefix("4#") || text.hasPrefix("6#")
            let whole = hasPrefix ? "\(text.prefix(2))ip#\(text.dropFirst(2))" : "ip#\(text)"
            return AddressSetTarget(whole).map { "the family is missing: write \(tomlString($0.description))" }
        },
        parse: { AddressSetTarget($0) }, write: \.description)
}
