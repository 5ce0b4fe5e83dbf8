// Parses the bytes of a settings file into settings or complaints; reads no files.

extension Settings {
    /// Parses a settings file; an empty file gives the defaults. Reports all errors at once; `file` is the name in
    /// their text.
    package static func parse(bytes: [UInt8], file: String) throws(SettingsError) -> Settings {
        let text = TOMLDocument.text(bytes)
        let document: TOMLDocument
        do throws(TOMLDocument.SyntaxError) {
            document = try TOMLDocument(text)
        } catch {
            throw SettingsError([complaint(about: error, in: text, file: file)])
        }
        var findings = SettingsErrors()
        var settings = findings.settings(from: document.root)
        settings.rules = settings.rules.placed(at: findings.ruleNodes, of: document, file: file)
        if findings.all.isEmpty { return settings }
        throw SettingsError(findings.complaints(document, file: file))
    }

    /// Returns a complaint about a syntax error. If the key refuses the corrected value too, the complaint says that
    /// instead: the text to write would be refused next. Only a known key without secrets has its value in the message.
    /// A word of another key may be a part of a secret, which the key's format does not recognise.
    private static func complaint(
        about error: TOMLDocument.SyntaxError, in text: ArraySlice<UInt8>, file: String
    ) -> Complaint {
        guard let mistake = SyntaxMistake(error, in: text) else {
            return Complaint(file: file, line: error.line, column: error.column, text: "syntax: \(error.reason)")
        }
        let isShown = mistake.keys.map(SettingsErrors.isPublic) ?? false
        if isShown || !mistake.isAboutWord, let document = try? TOMLDocument(mistake.corrected[...]) {
            var findings = SettingsErrors()
            _ = findings.settings(from: document.root)
            let refused = findings.complaints(document, file: file).first { complaint in
                mistake.places.contains { $0 == (complaint.line, complaint.column) }
            }
            if let refused { return mistake.asWritten(refused) }
        }
        return Complaint(
            file: file, line: mistake.line, column: mistake.column, text: "syntax: \(mistake.text(isShown: isShown))")
    }
}
