// Checks that the certificate authorities that TLS needs are present and readable.

struct AuthorityCheck: Sendable {
    enum Store: Equatable, Sendable {
        case present
        case missing
        /// The file holds no certificate.
        case empty
        /// The error text of the system or of OpenSSL.
        case unreadable(String)
    }

    struct File: Sendable {
        /// "probe.ca-file", or "ca-file of provider NAME"
        let key: LocalizedText
        let path: String
        let store: Store
    }

    let system: Store
    /// "probe", or the names of https providers without a ca-file; empty: the system store is unused.
    let usersOfSystem: [String]
    let files: [File]

    var findings: [Finding] {
        var findings: [Finding] = []
        if let text = AuthorityCheck.text(system), !usersOfSystem.isEmpty {
            findings.append(
                Finding(
                    .fault, .authorities,
                    "/etc/ssl/certs/ca-certificates.crt \(text): no TLS certificate can be verified (\(shownUsers))",
                    remedy: LocalizedText(verbatim: "apt install ca-certificates; update-ca-certificates --fresh")))
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

    private var shownUsers: LocalizedText {
        LocalizedText(names: usersOfSystem, maxShown: 3)
    }

    private static func text(_ store: Store) -> LocalizedText? {
        switch store {
        case .present: nil
        case .missing: "does not exist"
        case .empty: "holds no certificate"
        case .unreadable(let why): "can't be read: \(why)"
        }
    }
}
