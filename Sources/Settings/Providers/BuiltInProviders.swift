// The default providers: public, free, without an account, dialled by address.

import DNSWire

extension Settings.Provider {
    package static let builtIn = [
        publicService("alidns", .json, "dns.alidns.com", "/resolve", (223, 5, 5, 5), (223, 6, 6, 6)),
        publicService("dnspod", .doh, "doh.pub", "/dns-query", (1, 12, 12, 12), (120, 53, 53, 53)),
        publicService("google", .doh, "dns.google", "/dns-query", (8, 8, 8, 8), (8, 8, 4, 4)),
        publicService("cloudflare", .doh, "cloudflare-dns.com", "/dns-query", (1, 1, 1, 1), (1, 0, 0, 1)),
    ]

    private typealias Octets = (UInt32, UInt32, UInt32, UInt32)

    private static func publicService(
        _ name: String, _ dialect: Dialect, _ host: String, _ path: String, _ first: Octets, _ second: Octets
    ) -> Settings.Provider {
        let addresses = [first, second].map { Address.v4($0.0 << 24 | $0.1 << 16 | $0.2 << 8 | $0.3) }
        return Settings.Provider(
            name: name, dialect: dialect, url: .init(host: .name(host), path: path), addresses: addresses)
    }
}
