// A provider that is ready to be asked: its settings and everything read and built from them. Errors in a key or a
// template are reported at start, at each reload, and by --check.

import Crypto
package import DNSWire
package import HTTPClient
package import HTTPDNS
import LinuxIO
package import Settings

package struct ProviderAccount {
    package let settings: Settings.Provider
    /// The settings' value, kept so that no request copies them.
    let isBilled: Bool
    /// The names of the settings and of `names-file`.
    package let names: [QuestionScope]
    package let secrets: ProviderSecrets
    package let dialect: any Dialect
    /// How the vendor lists service nodes; nil: it lists none, or the settings leave them out.
    let nodeListing: (any NodeListing)?
    let proxy: HTTPProxy?
    /// A digest of everything that decides the provider's answers or the way to it, apart from `ParameterSets` and the
    /// client subnet: equal on every machine with the same settings and the same certificate authorities.
    package let identity: String

    /// Bound on a file of certificate authorities: more than the bundle of a system has.
    private static let maxAuthorityBytes = 8 << 20

    /// - Parameter namesOfFile: the contents of `names-file`.
    init(
        _ settings: Settings.Provider, _ secrets: ProviderSecrets = ProviderSecrets(),
        namesOfFile: [QuestionScope] = []
    ) throws(DialectFault) {
        self.settings = settings
        isBilled = settings.isBilled
        names = settings.names + namesOfFile
        self.secrets = secrets
        identity = ProviderAccount.identity(settings)
        dialect = try settings.dialect.type.init(
            settings, key: secrets.key?.text, cipherKey: secrets.cipherKey?.text)
        nodeListing = settings.serviceNodes ? dialect.nodeListing(settings) : nil
        guard let proxy = settings.proxy else {
            self.proxy = nil
            return
        }
        guard let usable = HTTPProxy(proxy, password: secrets.proxyPassword?.text) else {
            throw DialectFault(
                "proxy-key-file: found a password that is too long; allowed: up to "
                    + "\(HTTPProxy.maxCredentialBytes) bytes")
        }
        self.proxy = usable
    }

    private static func identity(_ settings: Settings.Provider) -> String {
        // A file that cannot be read makes each request fail.
        let authorities = settings.caFile.map { file in
            (try? TextFile.read(file, maxBytes: maxAuthorityBytes)) ?? Array(file.utf8)
        }
        let text = Array(settings.identity.utf8)
        let digests = [text, authorities ?? []].compactMap { try? Digest.sha256($0) }
        return digests.map(Hex.encode).joined(separator: " ")
    }

    /// Returns all accounts. Reports all errors together.
    ///
    /// - Parameters:
    ///   - file: named in complaints.
    ///   - namesOfFile: the contents of each `names-file`.
    ///   - faults: gets the errors of providers that no client's question goes to (`askedProviders`): left out.
    package static func all(
        in settings: Settings, settingsFile file: String, _ namesOfFile: [String: [QuestionScope]],
        unused faults: inout [String]
    ) throws(UnusableSettings) -> [ProviderAccount] {
        let asked = Set(settings.askedProviders.map(\.name))
        var accounts: [ProviderAccount] = []
        var complaints: [String] = []
        for provider in settings.providers {
            do throws(UnusableSettings) {
                let names = provider.namesFile.flatMap { namesOfFile[$0] } ?? []
                accounts.append(try account(provider, names, settingsFile: file))
            } catch {
                if asked.contains(provider.name) { complaints += error.complaints } else { faults += error.complaints }
            }
        }
        guard complaints.isEmpty else { throw UnusableSettings(complaints: complaints) }
        return accounts
    }

    private static func account(
        _ provider: Settings.Provider, _ names: [QuestionScope], settingsFile file: String
    ) throws(UnusableSettings) -> ProviderAccount {
        let keys = try ProviderKeys([provider], settingsFile: file)
        do throws(DialectFault) {
            return try ProviderAccount(provider, keys[provider], namesOfFile: names)
        } catch {
            throw UnusableSettings(complaints: ["\(file): provider \(provider.name): \(error.text)"])
        }
    }

    /// Whether a service node has a certificate for its own address.
    var nodesHaveOwnCertificates: Bool { urlHasAddress && settings.dialect.facts.nodesHaveCertificates }

    /// The only name on the vendor's certificate, if the URL has an address in its place.
    private var vendorName: String? { urlHasAddress ? settings.dialect.facts.certificateName : nil }

    private var urlHasAddress: Bool {
        guard case .address = settings.url.host else { return false }
        return true
    }

    /// Returns the endpoint to dial for one of the provider's addresses, with its TLS name.
    ///
    /// - Parameters:
    ///   - port: nil: the URL's.
    ///   - host: the name or address that the certificate must be valid for, unless the settings have another one; nil:
    ///     the URL's.
    package func endpoint(_ address: Address, port: UInt16? = nil, host: String? = nil) -> HTTPEndpoint? {
        let sni = settings.sni ?? vendorName
        return HTTPEndpoint(
            scheme: settings.url.isSecure ? .https : .http, host: host ?? settings.url.host.plainText,
            port: port ?? settings.url.port, address: address.description, sni: sni,
            verifyName: settings.verifyName ?? vendorName,
            hostHeader: settings.host, caFile: settings.caFile, proxy: proxy,
            idleSeconds: Int(settings.idle.wholeSeconds), maxRequestsPerConnection: settings.connectionRequests)
    }
}

extension HTTPProxy {
    fileprivate init?(_ proxy: Settings.Provider.Proxy, password: String?) {
        let kind: Kind =
            switch proxy.scheme {
            case .http: .connect
            case .socks5h: .socks5h
            }
        self.init(
            kind: kind, address: proxy.endpoint.address.description, port: proxy.endpoint.port, userName: proxy.user,
            password: password)
    }
}

extension Settings.ProviderURL.Host {
    /// The host without the brackets of an IPv6 address in a URL.
    package var plainText: String {
        switch self {
        case .name(let name): name
        case .address(let address): address.description
        }
    }
}
