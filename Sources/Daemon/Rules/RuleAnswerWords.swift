// A rule's answer in the words of the settings, for `explain`.

import Control
import DNSWire
import Resolver

extension RuleAnswer {
    /// The settings of the answer, one text for each key.
    var settings: [String] {
        switch self {
        case .noSuchName(let remark): ["answer = nxdomain", RuleAnswer.setting(remark)]
        case .noData(let remark): ["answer = nodata", RuleAnswer.setting(remark)]
        case .refused(let remark): ["answer = refused", RuleAnswer.setting(remark)]
        case .records(let records, let remark):
            RuleAnswer.settings(records) + (remark.map { [RuleAnswer.setting($0)] } ?? [])
        case .alias(let target): ["cname = \(target)"]
        }
    }

    private static func settings(_ records: [ResourceRecord]) -> [String] {
        let keys = [("answer", [RecordType.a, .aaaa]), ("txt", [.txt]), ("srv", [.srv])]
        return keys.compactMap { key, types in
            let data = records.filter { types.contains($0.type) }
                .map { CacheEntryReport.Record($0, ageSeconds: 0).data }
            return data.isEmpty ? nil : "\(key) = \(data.joined(separator: " "))"
        }
    }

    private static func setting(_ remark: ExtendedError) -> String {
        switch remark {
        case .censoredByRule: "extended-error = censored"
        case .filteredByRule: "extended-error = filtered"
        default: "extended-error = blocked"
        }
    }
}
