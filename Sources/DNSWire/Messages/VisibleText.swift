// Which characters of foreign text are safe on a terminal.

extension Unicode.Scalar {
    /// False for characters that move a cursor, change the writing direction or show nothing, line feeds among them.
    package var isVisible: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: false
        default: true
        }
    }
}
