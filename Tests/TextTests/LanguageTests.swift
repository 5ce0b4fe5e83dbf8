// The language by the environment.

import Testing

@testable import httpdnsctl

@Suite("The language of texts")
struct LanguageTests {
    private func language(_ variables: [String: String]) -> Language { Language { variables[$0] } }

    @Test(
        "simplified Chinese is chosen by the locale's name",
        arguments: [
            "zh_CN.UTF-8", "zh_CN.utf8", "zh_CN", "zh_SG.UTF-8", "zh_Hans_HK.UTF-8", "zh", "zh_CN.UTF-8@pinyin",
        ])
    func chinese(locale: String) {
        #expect(language(["LANG": locale]) == .chinese)
        #expect(language(["LC_MESSAGES": locale, "LANG": "en_US.UTF-8"]) == .chinese)
    }

    @Test(
        "everything else is English",
        arguments: [
            "", "C", "C.UTF-8", "POSIX", "en_US.UTF-8", "de_DE.UTF-8", "zh_TW.UTF-8", "zh_Hant.UTF-8", "zhu",
            "zh_CN.GB2312",
            "zh_CN.GB18030", "zh_CN.", "zh_CN.ISO-8859-1",
        ])
    func english(locale: String) {
        #expect(language(["LANG": locale]) == .english)
    }

    @Test("the first variable that is set and not empty counts")
    func order() {
        let chinese = "zh_CN.UTF-8"
        #expect(language([:]) == .english)
        #expect(language(["LC_ALL": "en_US.UTF-8", "LC_MESSAGES": chinese, "LANG": chinese]) == .english)
        #expect(language(["LC_ALL": chinese, "LC_MESSAGES": "C", "LANG": "C"]) == .chinese)
        #expect(language(["LC_ALL": "", "LC_MESSAGES": "", "LANG": chinese]) == .chinese)
        #expect(language(["LC_MESSAGES": "C", "LANG": chinese]) == .english)
    }

    @Test("a terminal without UTF-8 gets English")
    func charset() {
        #expect(language(["LC_CTYPE": "C", "LANG": "zh_CN.UTF-8"]) == .english)
        #expect(language(["LC_CTYPE": "zh_CN.GBK", "LANG": "zh_CN.UTF-8"]) == .english)
        #expect(language(["LC_CTYPE": "C.UTF-8", "LC_MESSAGES": "zh_CN.GBK", "LANG": "C"]) == .chinese)
        #expect(language(["LC_CTYPE": "UTF-8", "LANG": "zh_CN.UTF-8"]) == .chinese)
    }

    @Test("LANGUAGE counts before the locale's language, but not with the standard locale")
    func list() {
        #expect(language(["LANGUAGE": "zh_CN:en", "LANG": "en_US.UTF-8"]) == .chinese)
        #expect(language(["LANGUAGE": "de:zh_CN", "LANG": "en_US.UTF-8"]) == .chinese)
        #expect(language(["LANGUAGE": "en:zh_CN", "LANG": "zh_CN.UTF-8"]) == .english)
        #expect(language(["LANGUAGE": "de", "LANG": "zh_CN.UTF-8"]) == .english)
        #expect(language(["LANGUAGE": "", "LANG": "zh_CN.UTF-8"]) == .chinese)
        #expect(language(["LANGUAGE": "zh_CN", "LANG": "C.UTF-8"]) == .english)
        #expect(language(["LANGUAGE": "zh_CN", "LANG": "zh_CN.GBK"]) == .english)
    }
}
