// Checks the keys about local names together with the rules and nameservers that would send such names elsewhere.

import DNSWire

extension SettingsErrors {
    mutating func judgeLocalNames(_ settings: Settings, in root: TOMLNode) {
        judgeRepeated(settings.localZones, "local-zone", root.member("local-zone"))
        judgeRepeated(settings.leaseFiles, "lease-files", root.member("lease-files"))
        guard !settings.localZones.isEmpty else { return }
        let rules = settings.rules.map { $0.resolver == nil ? [] : $0.match }
        judge(rules, "rule.match", root.member("rule"), "match", outside: settings.localZones)
        let nameservers = settings.nameservers.map(\.names)
        judge(nameservers, "nameserver.names", root.member("nameserver"), "names", outside: settings.localZones)
    }

    /// Complains about resolvers for a whole local zone. The zone keeps its names, so that such a resolver would never
    /// be asked.
    private mutating func judge(
        _ names: [[Name]], _ key: String, _ tables: TOMLNode?, _ member: String, outside zones: [Name]
    ) {
        guard case .array(let elements) = tables?.value, elements.count == names.count else { return }
        for (names, element) in zip(names, elements) {
            guard case .array(let nodes) = element.member(member)?.value else { continue }
            for (name, node) in zip(names, nodes) where zones.contains(name) {
                note(
                    node,
                    "\(key): found \"\(name)\", which local-zone keeps on this machine; allowed: names below it; "
                        + "for the whole of it, remove it from local-zone")
            }
        }
    }
}
