// From settings and secrets to a dialect: the one place where the settings' words meet the dialects' types. What only
// the dialect can judge, such as a key that has to have a certain length, is found here, before anything is asked.

import Crypto
import HTTPDNS
import Settings

/// Why a provider can't be asked as the settings say: ends a complaint.
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
            return DNSPodEncrypted(url: url, account: account, key: key, cipher: .des, expires: settings.expiring)
        case .dnspodAES:
            return DNSPodEncrypted(url: url, account: account, key: key, cipher: .aes, expires: settings.expiring)
        case .dnspodHTTPS:
            return DNSPodHTTPS(url: url, account: account, token: key, expires: settings.expiring)
        case .json: return JSONDialect(url: url)
        case .doh: return DoHDialect(url: url, method: settings.method == .get ? .get : .post)
        case .volcengine: return Volcengine(url: url, account: account, secret: key)
        case .baidu: return Baidu(url: url, account: account, secret: key)
        case .ucloud: return UCloud(url: url, account: account, secret: key)
        case .alicloud, .alicloudV2, .template: throw DialectFault("dialect \(settings.dialect.rawValue): not spoken")
        }
    }
}
