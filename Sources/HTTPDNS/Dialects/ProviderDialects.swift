// Selects the code of a dialect: by a provider's settings, or for the lab by a request.

package import DNSWire
package import Settings

extension Settings.Provider.Dialect {
    package var type: any HTTPDNS.Dialect.Type {
        switch self {
        case .dnspod: DNSPod.self
        case .dnspodDES, .dnspodAES: DNSPodEncrypted.self
        case .dnspodHTTPS: DNSPodHTTPS.self
        case .alicloud: AliCloud.self
        case .alicloudV2: AliCloudV2.self
        case .volcengine: Volcengine.self
        case .json: JSONDialect.self
        case .doh: DoHDialect.self
        case .baidu: Baidu.self
        case .ucloud: UCloud.self
        case .template: TemplateDialect.self
        }
    }
}

extension HTTPRequest {
    /// Server side: returns the dialect of the request, with the lab's account; nil for a path without a dialect.
    package func labDialect(at path: Substring) -> (any Dialect)? {
        let dialects = Settings.Provider.Dialect.allCases.compactMap { $0.type.inLab(self, at: path) }
        // The paths of these two may be those of other dialects, too.
        return dialects.first { !($0 is AliCloud || $0 is JSONDialect) } ?? dialects.first
    }
}
