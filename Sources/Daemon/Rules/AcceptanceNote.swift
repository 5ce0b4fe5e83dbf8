// The note of the store that says under which rules its answers were accepted. After a restart with other rules, the
// answers of the names concerned are removed.

import DNSWire
import Resolver
import Settings
import Store
import Upstreams

struct AcceptanceNote: Equatable {
    static let name = "acceptance"

    /// The digest of the rules, and the names concerned, with all names below them; the root, if there are too many.
    private let digest: String
    let names: [Name]

    /// - Returns: nil without such rules.
    init?(_ policy: Policy, _ nameservers: [NamedServer]) {
        let digest = policy.acceptanceDigest { id in
            let server = nameservers.first { $0.id == id }?.settings
            let addresses = server?.servers.map(\.description).joined(separator: ",") ?? ""
            return "nameserver \(addresses) \(server?.caFile ?? "")"
        }
        guard let digest else { return nil }
        self.digest = digest
        let names = policy.namesWithAcceptanceTerms
        let bytes = names.reduce(digest.utf8.count) { $0 + 1 + $1.description.utf8.count }
        self.names = bytes <= NoteRow.maxValueBytes ? names : [.root]
    }

    /// - Returns: nil for a text that is no such note.
    init?(_ text: String) {
        let parts = text.split(separator: "\t").map(String.init)
        guard let digest = parts.first, parts.count > 1 else { return nil }
        self.digest = digest
        let names = parts.dropFirst().compactMap { Name($0) }
        self.names = names.count == parts.count - 1 ? names : [.root]
    }

    var text: String { ([digest] + names.map(\.description)).joined(separator: "\t") }

    /// Returns whether answers that were accepted under the other rules are accepted under these.
    static func accepts(_ note: AcceptanceNote?, answersOf other: AcceptanceNote?) -> Bool {
        note?.digest == other?.digest
    }
}
