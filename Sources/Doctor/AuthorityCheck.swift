// Checks that the certificate authorities that TLS needs are present and readable.

package struct AuthorityCheck: Sendable {
    package enum Store: Equatable, Sendable {
        case present
        case missing
        /// The file holds no certificate.
        case empty
        /// The error text of the system or of OpenSSL.
        case unreadable(String)
    }

    package struct File: Sendable {
        /// "probe.ca-file", or "ca-file of provider NAME"
        package let key: String
        package let path: String
        package let store: Store

        package init(key: String, path: String, store: Store) {
            self.key = key
            self.path = path
            self.store = store
        }
    }

    package let system: Store
    /// "probe", or the names of https providers without a ca-file; empty: the system store is unused.
    package let usersOfSystem: [String]
    package let files: [File]

    package init(system: Store, usersOfSystem: [String], files: [File]) {
        self.system = system
        self.usersOfSystem = usersOfSystem
        self.files = files
    }

    package var findings: [Finding] {
        var findings: [Finding] = []
        if let text = AuthorityCheck.text(system), !usersOfSystem.isEmpty {
            findings.append(
                Finding(
                    .fault, .authorities,
                    "/etc/ssl/certs/ca-certificates.crt \(text): no TLS certificate can be verified (\(shownUsers))",
                    remedy: "apt install ca-certificates; update-ca-certificates --fresh"))
        }
        for file in files {
            guard let text = AuthorityCheck.text(file.store) else { continue }
            findings.append(
                Finding(
                    .fault, .authorities, "\(file.path) (\(file.key)) \(text)",
                    remedy: "put a PEM file there that the daemon can read, or remove \(file.key) from the settings"))
        }
        return findings
    }

    private var shownUsers: String {
        let maxShown = 3
        let others = usersOfSystem.count - maxShown
        return usersOfSystem.prefix(maxShown).joined(separator: ", ") + (others > 0 ? " and \(others) more" : "")
    }

    private static func text(_ store: Store) -> String? {
        switch store {
        case .present: nil
        case .missing: "does not exist"
        case .empty: "holds no certificate"
        case .unreadable(let why): "can't be read: \(why)"
        }
    }
}
