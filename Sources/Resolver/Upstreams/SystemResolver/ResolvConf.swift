// Parses the nameservers, as text, the search domains and the options of resolv.conf(5). Any input bytes are safe.

package import DNSWire

package struct ResolvConf: Sendable {
    /// Values of the "nameserver" lines in order, usually addresses, cut to the length of a log line.
    let nameservers: [String]
    /// Search domains of the last "search" or "domain" line, in lower case without duplicates; "search ." means none.
    package let searchDomains: [Name]
    let options: NameserverOptions

    /// Maximum number of lines read, in case a generator writes a broken file.
    static let maxLines = 1024
    /// Maximum number of search domains, twice as many as any resolver follows; glibc before 2.26 stopped at 6.
    package static let maxSearchDomains = 32
    private static let maxNameserverBytes = 64
    /// Maximum number of options on one line. resolv.conf(5) has about 20.
    private static let maxOptions = 64
    /// Maximum size of a domain: a name in its longest spelling has every byte escaped.
    private static let maxDomainBytes = 4 * Name.maxWireBytes

    package init(_ text: [UInt8]) {
        var nameservers: [String] = []
        var domains: [ArraySlice<UInt8>] = []
        var options: [String] = []
        for line in text.split(separator: UInt8(ascii: "\n")).prefix(ResolvConf.maxLines) {
            // A comment begins a line, or follows white space, as glibc and systemd read it.
            let words = line.split { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
                .prefix { $0.first != UInt8(ascii: "#") && $0.first != UInt8(ascii: ";") }
            guard let keyword = words.first, words.count >= 2 else { continue }
            switch String(decoding: keyword, as: UTF8.self) {
            case "nameserver":
                nameservers.append(String(decoding: words[1].prefix(ResolvConf.maxNameserverBytes), as: UTF8.self))
            case "search": domains = Array(words.dropFirst())
            case "domain": domains = [words[1]]
            case "options":
                options += words.dropFirst().prefix(ResolvConf.maxOptions).map { String(decoding: $0, as: UTF8.self) }
            default: continue
            }
        }
        self.nameservers = nameservers
        self.options = NameserverOptions(options)
        searchDomains = ResolvConf.names(domains)
    }

    private static func names(_ words: [ArraySlice<UInt8>]) -> [Name] {
        var names: [Name] = []
        for word in words where names.count < maxSearchDomains && word.count <= maxDomainBytes {
            guard let name = Name(String(decoding: word, as: UTF8.self).lowercased()), !name.isRoot,
                !names.contains(name)
            else { continue }
            names.append(name)
        }
        return names
    }
}
