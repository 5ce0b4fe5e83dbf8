// Builds a dialect from settings and secrets. Errors that only the dialect detects, such as a wrong key length, are
// found here, before the first request.

import Crypto
import HTTPDNS
import Settings

/// Why a provider's settings do not suffice; the end of a complaint.
struct DialectFault: Error, Equatable {
    let text: String

    init(_ text: String) {
        self.text = text
    }
}

enum ProviderDialects {
    static func dialect(_ settings: Settings.Provider, _ secrets: ProviderSecrets) throws(DialectFault) -> any Dialect {
        let url = settings.url.path
        let account = settings.account ?? ""
        let key = secrets.key?.text ?? ""
        switch settings.dialect {
        case .dnspod: return DNSPod(url: url, account: account)
        case .dnspodDES:
            guard Cipher.desIsAvailable else {
                throw DialectFault(
                    "dialect dnspod-des: OpenSSL has no DES here; install its legacy provider (legacy.so, on Debian "
                        + "in the package libssl3) or use dnspod-aes")
            }
            return encrypted(settings, key: key, .des)
        case .dnspodAES: return encrypted(settings, key: key, .aes)
        case .dnspodHTTPS:
            return DNSPodHTTPS(url: url, account: account, token: key, expires: settings.expiring)
        case .json: return JSONDialect(url: url, account: aliDNSAccount(settings, key))
        case .doh:
            return DoHDialect(
                url: url, method: settings.method == .get ? .get : .post, trustsAuthenticData: settings.trustAD)
        case .volcengine: return Volcengine(url: url, account: account, secret: key)
        case .baidu: return Baidu(url: url, account: account, secret: key, wantsNodes: settings.serviceNodes)
        case .ucloud: return UCloud(url: url, account: account, secret: key)
        case .alicloud: return AliCloud(url: url, account: account, secret: secrets.key?.text)
        case .alicloudV2: return try aliCloudV2(settings, secrets)
        case .template: return try template(settings, key)
        }
    }

    /// Returns nil for a vendor that lists no service nodes.
    static func nodeListing(_ settings: Settings.Provider, _ secrets: ProviderSecrets) -> (any NodeListing)? {
        let url = settings.url.path
        let account = settings.account ?? ""
        let key = secrets.key?.text ?? ""
        switch settings.dialect {
        case .dnspod, .json, .doh, .template: return nil
        case .dnspodDES: return DNSPodNodes(url: url, .encrypted(encrypted(settings, key: key, .des)))
        case .dnspodAES: return DNSPodNodes(url: url, .encrypted(encrypted(settings, key: key, .aes)))
        case .dnspodHTTPS: return DNSPodNodes(url: url, .token(key))
        case .alicloud, .alicloudV2:
            return AliCloudNodes(url: url, account: account, region: settings.region ?? defaultRegion)
        case .volcengine: return VolcengineNodes(url: url, account: account, secret: key)
        case .baidu: return BaiduNodes()
        case .ucloud:
            return UCloudNodes(url: url, account: account, secret: key, isSecure: settings.url.isSecure)
        }
    }

    static let defaultRegion = "global"

    private static func encrypted(
        _ settings: Settings.Provider, key: String, _ cipher: DNSPodEncrypted.Algorithm
    ) -> DNSPodEncrypted {
        DNSPodEncrypted(
            url: settings.url.path, account: settings.account ?? "", key: key, cipher: cipher,
            expires: settings.expiring, encryptsClient: settings.clientSubnetForm == .encrypted)
    }

    /// Returns nil for services without accounts.
    private static func aliDNSAccount(_ settings: Settings.Provider, _ key: String) -> AliDNSAccount? {
        guard let account = settings.account, let accessKey = settings.accessKey else { return nil }
        return AliDNSAccount(uid: account, accessKeyID: accessKey, accessKeySecret: key)
    }

    private static func aliCloudV2(
        _ settings: Settings.Provider, _ secrets: ProviderSecrets
    ) throws(DialectFault) -> any Dialect {
        let cipherKey = secrets.cipherKey?.text ?? ""
        let encryption: AliCloudV2.Encryption =
            switch settings.cipher {
            case .cbc: .cbc(cipherKey)
            case .gcm: .gcm(cipherKey)
            case .plain, nil: .none
            }
        do throws(UnusableKey) {
            return try AliCloudV2(
                url: settings.url.path, account: settings.account ?? "", secret: secrets.key?.text ?? "",
                cipher: encryption)
        } catch {
            let key = error.name == "secret" ? "key-file" : "cipher-key-file"
            throw DialectFault("\(key): found something else; allowed: \(error.allowed)")
        }
    }

    private static func template(_ settings: Settings.Provider, _ key: String) throws(DialectFault) -> any Dialect {
        guard let template = settings.template, let digest = Recipe.Digest(rawValue: template.digest.rawValue) else {
            throw DialectFault("no [provider.template]; dialect template needs one")
        }
        let recipe: Recipe
        do throws(Recipe.Fault) {
            recipe = try Recipe(
                query: template.query, headers: template.headers, maxNames: template.maxNames,
                lifetimeSeconds: template.lifetimeSeconds, digest: digest, signed: template.signed,
                sorts: template.sorts, joiner: template.joiner, v4: template.v4, v6: template.v6, ttl: template.ttl,
                success: template.success, nameStatuses: template.nameStatuses)
        } catch {
            throw DialectFault("template.\(error.text)")
        }
        guard settings.account != nil || !recipe.needsAccount else {
            throw DialectFault("no account; the template has {account}: set it to the id that the vendor gave you")
        }
        guard !key.isEmpty || !recipe.needsSecret else {
            throw DialectFault("no key-file; the template signs with its content: name a file with the secret")
        }
        return TemplateDialect(url: settings.url.path, account: settings.account ?? "", secret: key, recipe: recipe)
    }
}
