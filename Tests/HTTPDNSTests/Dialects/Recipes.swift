// Vendors with a dialect of their own, written as recipes, so that recipes are known to be expressive enough.

import HTTPDNS
import Settings

enum Recipes {
    static func volcengine(url: String) -> TemplateDialect {
        dialect(url, account: "1023", secret: "QlgAuFMwNUwN") { () throws(Recipe.Fault) in
            try Recipe(
                query: "domain={name}&ip={client-ip}&account_id={account}&timestamp={expiry-ms}&sign={signature}",
                digest: .md5,
                signed: ["{secret}", "{expiry-ms}", "{account}", "{name}", "{client-ip}", "{type}"], sorts: true,
                joiner: "_", v4: "ips", v6: "ips", ttl: "ttl", success: "host={name}")
        }
    }

    /// A second recipe for the same service: one family at a time.
    static func volcengineByType(url: String) -> TemplateDialect {
        dialect(url, account: "1023", secret: "QlgAuFMwNUwN") { () throws(Recipe.Fault) in
            try Recipe(
                query: "domain={name}&ip={client-ip}&type={type}&account_id={account}&timestamp={expiry-ms}"
                    + "&sign={signature}",
                digest: .md5,
                signed: ["{secret}", "{expiry-ms}", "{account}", "{name}", "{client-ip}", "{type}"], sorts: true,
                joiner: "_", v4: "ips", v6: "ips", ttl: "ttl", success: "host={name}")
        }
    }

    static func baidu(url: String) -> TemplateDialect {
        dialect(url, account: "100", secret: "1234567890") { () throws(Recipe.Fault) in
            try Recipe(
                query: "account_id={account}&dn={names}&t={expiry}&sign={signature}&type=dual_stack"
                    + "&ip={client-ip}",
                maxNames: 10,
                digest: .md5, signed: ["{names}", "{secret}", "{expiry}"], joiner: "-", v4: "data.{name}.ipv4.ip",
                v6: "data.{name}.ipv6.ip", ttl: "data.{name}.ipv{family}.ttl", success: "msg=ok")
        }
    }

    static func ucloud(url: String) -> TemplateDialect {
        dialect(url, account: "100000", secret: "AuthSecret") { () throws(Recipe.Fault) in
            try Recipe(
                query: "host={name}&timestamp={now}", headers: ["Authorization: {signature}"], lifetimeSeconds: 60,
                digest: .md5, signed: ["{name}", "{now}", "{secret}"], joiner: "-", v4: "ip_list", ttl: "ttl",
                success: "host={name}")
        }
    }

    private static func dialect(
        _ url: String, account: String, secret: String, _ recipe: () throws(Recipe.Fault) -> Recipe
    ) -> TemplateDialect {
        do throws(Recipe.Fault) {
            return TemplateDialect(url: url, account: account, secret: secret, recipe: try recipe())
        } catch {
            preconditionFailure("\(error)")
        }
    }
}

extension Recipe {
    typealias Digest = Settings.Provider.Template.Digest

    /// Makes the recipe of a template with these keys.
    init(
        query: String, headers: [String] = [], maxNames: Int = 1, lifetimeSeconds: Int = 300, digest: Digest = .none,
        signed: [String] = [], sorts: Bool = false, joiner: String = "", v4: String = "", v6: String = "",
        ttl: String = "", success: String = "", nameStatuses: [Int] = []
    ) throws(Fault) {
        var template = Settings.Provider.Template(query: query)
        (template.headers, template.maxNames, template.lifetimeSeconds) = (headers, maxNames, lifetimeSeconds)
        (template.digest, template.signed, template.sorts, template.joiner) = (digest, signed, sorts, joiner)
        (template.v4, template.v6, template.ttl, template.success) = (v4, v6, ttl, success)
        template.nameStatuses = nameStatuses
        try self.init(template)
    }
}
