// Invalid recipes: each error names the field, the found text and the allowed values.

import HTTPDNS
import Settings
import Testing

struct RecipeTests {
    private func fault(_ make: () throws(Recipe.Fault) -> Recipe) -> String? {
        do throws(Recipe.Fault) {
            _ = try make()
            return nil
        } catch {
            return error.text
        }
    }

    @Test(
        "a query names one name or several, once, and nothing unknown or secret",
        arguments: [
            ("", #"found """#), ("dn", #"found "dn""#), ("dn={name}&x", #"found "x""#),
            ("={name}", #"found "={name}""#),
            ("dn=1", "found no name; allowed: {name} or {names}, once"),
            ("dn={name}&d={names}", "found several places for names"),
            ("dn={name}&x={bogus}", #"found "{bogus}"; allowed: {name}, {names}, {type}, {family}, {account}, {now}"#),
            ("dn={name}&x={Name}", #"found "{Name}""#), ("dn={name}&x={name", #"found "{name""#),
            ("dn={name}&x=}", #"found "}""#), ("dn={name}&s={secret}", #"found "{secret}""#),
            ("dn={name}&a=b c", "found a byte that is not allowed in a query"),
            ("dn={name}#x=1", "found a byte that is not allowed in a query"),
            ("dn={name}&{name}=x", "found "), ("dn={name}&ä=x", "found a byte that is not allowed in a query"),
        ])
    func queries(query: String, expected: String) throws {
        let said = try #require(fault { () throws(Recipe.Fault) in try Recipe(query: query, v4: "ip") })
        #expect(said.hasPrefix("query: \(expected)"))
    }

    @Test(
        "headers are a name and a text in one line",
        arguments: ["", "Name", ": x", "Na me: x", "Name: x\r\nOther: y", "Name: {secret}", "Name: {x}", "Näme: x"])
    func headers(header: String) throws {
        let said = fault { () throws(Recipe.Fault) in try Recipe(query: "n={name}", headers: [header], v4: "ip") }
        #expect(try #require(said).hasPrefix("headers: found "))
    }

    @Test(
        "paths are made of segments that exist",
        arguments: [
            ".", "a.", ".a", "a..b", "{secret}", "{name", "x{name}", "{names}", "[a]", "[={name}]", "[a=b]",
            "[a={names}]",
            "100", "99999999999999999999", "a.b.c.d.e.f.g.h",
        ])
    func paths(path: String) throws {
        for field in ["v4", "v6", "ttl"] {
            let said = fault { () throws(Recipe.Fault) in
                try Recipe(
                    query: "n={name}", v4: field == "v4" ? path : "ip", v6: field == "v6" ? path : "",
                    ttl: field == "ttl" ? path : "")
            }
            #expect(
                said == "\(field): found \"\(path)\"; allowed: segments with dots between: a key, {name}, a number "
                    + "up to 99, *, or [key={name}]")
        }
    }

    @Test("success is a path and a value", arguments: ["ok", "=ok", "a..b=ok", "msg={names}", "msg={"])
    func success(text: String) throws {
        let said = fault { () throws(Recipe.Fault) in try Recipe(query: "n={name}", v4: "ip", success: text) }
        #expect(try #require(said).hasPrefix("success: found "))
    }

    @Test("fields that contradict each other are named")
    func contradictions() {
        let faults = [
            fault { () throws(Recipe.Fault) in try Recipe(query: "n={name}") },
            fault { () throws(Recipe.Fault) in try Recipe(query: "n={name}", maxNames: 2, v4: "data.{name}") },
            fault { () throws(Recipe.Fault) in try Recipe(query: "n={names}", maxNames: 2, v4: "ip") },
            fault { () throws(Recipe.Fault) in try Recipe(query: "n={name}", digest: .md5, signed: ["x"], v4: "ip") },
            fault { () throws(Recipe.Fault) in try Recipe(query: "n={name}&s={signature}", v4: "ip") },
            fault { () throws(Recipe.Fault) in try Recipe(query: "n={name}", signed: ["{name}"], v4: "ip") },
            fault { () throws(Recipe.Fault) in try Recipe(query: "n={name}&s={signature}", digest: .md5, v4: "ip") },
            fault { () throws(Recipe.Fault) in
                try Recipe(query: "n={name}&s={signature}", digest: .md5, signed: ["{signature}"], v4: "ip")
            },
        ].map { $0.map { String($0.prefix { $0 != ";" }) } }
        #expect(
            faults == [
                "v4: found neither v4 nor v6", "max-names: found 2 with {name}",
                "v4: found a path that is the same for all of 2 names",
                "digest: found md5", "digest: found none beside {signature}", "digest: found none beside signed values",
                "signed: found nothing to sign", "signed: found \"{signature}\"",
            ])
    }

    @Test("what is wrong with a value is told without the value of any other field")
    func secrecy() throws {
        let said = fault { () throws(Recipe.Fault) in
            try Recipe(query: "n={name}&s={signature}", digest: .md5, signed: ["pa55word{", "{secret}"], v4: "ip")
        }
        #expect(try #require(said).hasPrefix("signed: found \"{\"; allowed: "))
    }
}
