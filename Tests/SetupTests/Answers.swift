// Answers for the tests: flags as text, and every combination of them.

import DNSWire
import LinuxIO
import Settings

@testable import httpdnsctl

/// A machine with an address of each family in a network.
let sampleMachine = SetupMachine(addresses: [
    InterfaceAddress(interface: "lo", address: .loopback4, prefixLength: 8),
    InterfaceAddress(interface: "eth0", address: .v4(0xC0A8_0705), prefixLength: 24),
    InterfaceAddress(interface: "eth0", address: .v6(high: 0xFD00_0000_0000_0000, low: 5), prefixLength: 64),
    InterfaceAddress(interface: "eth0", address: .v6(high: 0xFE80_0000_0000_0000, low: 5), prefixLength: 64),
])

func flags(_ line: String) throws(SetupRefusal) -> SetupFlags {
    try SetupFlags(line.split(separator: " ").map(String.init), output: "/etc/httpdnsd/httpdnsd.toml")
}

func answers(_ line: String, _ machine: SetupMachine = sampleMachine) throws(SetupRefusal) -> SetupAnswers {
    try SetupAnswers(flags(line), machine: machine)
}

func parsed(_ text: String) throws(SettingsError) -> Settings {
    try Settings.parse(bytes: Array(text.utf8), file: "settings")
}

extension VendorAccount {
    /// Flags with what the service requires.
    var requiredFlags: String {
        var words = ["--account \(name)"]
        if needs(.account) { words.append("--account-id 100") }
        if needs(.accessKey) { words.append("--access-key LTAI5t") }
        if needs(.keyFile) { words.append("--key-file /etc/httpdnsd/\(name).key") }
        if needsAddresses { words.append("--addresses 192.0.2.1,2001:db8::1") }
        return words.joined(separator: " ")
    }

    var needsAddresses: Bool {
        guard let url = Settings.ProviderURL(url), case .name = url.host else { return false }
        return addresses.isEmpty && !url.isSecure
    }
}

enum Combinations {
    static let providers =
        (0..<16).map { bits in
            let names = Settings.Provider.builtIn.map(\.name).enumerated().filter { bits >> $0.offset & 1 == 1 }
            return names.isEmpty ? "none" : names.map(\.element).joined(separator: ",")
        }
        + [
            "mullvad-base,nextdns:abc123,quad9", "https://dns.nextdns.io/abc123,https://192.0.2.1:8443/dns-query",
            "https://a.example/one,google,https://a.example/two "
                + "--provider-addresses a.example=192.0.2.1,a.example=2001:db8::1",
        ]

    static let accounts =
        ["--account no"] + VendorAccount.all.map(\.requiredFlags)
        + [
            "--account alicloud --account-id 1 --addresses 192.0.2.1 --key-file credential:emas",
            "--account dnspod-https --account-id 1234 --key-file /k/tencent",
            "--account volcengine --account-id 1 --key-file /k --url https://192.0.2.7:8443/resolve",
        ]

    static let lan = [
        "no", "192.168.7.5", "192.168.7.5:5353,fd00::5", "198.51.100.1 --allow 198.51.100.0/24,10.0.0.0/8",
    ]
}

/// What the answer about providers may be.
let presets =
    "some of alidns, dnspod, google, cloudflare, cloudflare-security, quad9, quad9-ecs, quad9-unfiltered, adguard, "
    + "adguard-family, adguard-unfiltered, mullvad, mullvad-base, dns-sb, dns4eu, controld-unfiltered, controld:ID, "
    + "nextdns:ID, https:// URLs, sdns:// stamps, or none"
