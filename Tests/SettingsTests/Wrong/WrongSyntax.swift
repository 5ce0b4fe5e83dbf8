// Files that are not TOML, and the complaints about them. The reasons are the daemon's, the places come from toml++.

let wrongSyntax: [Case] = [
    Case(
        #"\#u{FEFF}\#u{FEFF}a = 1"#,
        #"f:1:1: syntax: a byte order mark may only begin a file"#),
    Case(
        #"\#u{FEFF}\#u{FEFF}# a comment"#,
        #"f:1:1: syntax: a byte order mark may only begin a file"#),
    Case(
        #"a ="#,
        #"f:1:4: syntax: a value is missing after the ="#),
    Case(
        #"é = 1"#,
        #"f:1:1: syntax: neither a key nor a [table] header"#),
    Case(
        #"a = 1\#na"#,
        #"f:2:2: syntax: a = is missing after the key"#),
    Case(
        #"a = "abc"#,
        #"f:1:5: syntax: the string has no closing quote"#),
    Case(
        #"a = "\q""#,
        #"f:1:7: syntax: the string has a bad escape"#),
    Case(
        #"a = [1, 2"#,
        #"f:1:5: syntax: the array has no closing ]"#),
    Case(
        #"a = [1 2]"#,
        #"f:1:8: syntax: a , is missing in the array"#),
    Case(
        #"[server"#,
        #"f:1:8: syntax: the closing bracket of the table header is missing"#),
    Case(
        #"[server]]"#,
        #"f:1:9: syntax: a table header must end its line"#),
    Case(
        #"[[server]\#n"#,
        #"f:1:10: syntax: the closing bracket of the table header is missing"#),
    Case(
        #"a = 1 b = 2"#,
        #"f:1:7: syntax: a line must end after its value"#),
    Case(
        #"a = 1\#na = 2"#,
        #"f:2:5: syntax: this was defined before; a file holds each table and key once: join it with the first one"#),
    Case(
        #"[a]\#n[a]"#,
        #"f:2:1: syntax: this was defined before; a file holds each table and key once: join it with the first one"#),
    Case(
        #"a = 2021-13-45"#,
        #"f:1:12: syntax: not a valid date"#),
    Case(
        #"= 3"#,
        #"f:1:1: syntax: a key is missing before the ="#),
    Case(
        #"a = {b = 1, }"#,
        #"f:1:13: syntax: no , may stand before the } of an inline table"#),
    Case(
        #"a = {b = 1"#,
        #"f:1:11: syntax: the closing } of the inline table is missing"#),
    Case(
        #"a = """abc"#,
        #"f:1:5: syntax: the string has no closing quote"#),
    Case(
        #"a = nope"#,
        #"f:1:5: syntax: found a value that is not shown, because it may be a key; a string needs quotes"#),
    Case(
        #"proxy-key-file = hunter2"#,
        #"f:1:18: syntax: found a value that is not shown, because it may be a key; a string needs quotes"#),
    Case(
        #"a = 'x"#,
        #"f:1:5: syntax: the string has no closing quote"#),
    Case(
        #"a = 1."#,
        #"f:1:5: syntax: not a value (a string needs quotes)"#),
    Case(
        #"a = 01"#,
        #"f:1:5: syntax: a number may not start with a zero"#),
    Case(
        #"]"#,
        #"f:1:1: syntax: neither a key nor a [table] header"#),
    Case(
        #""é" = "é" x"#,
        #"f:1:11: syntax: a line must end after its value"#),
    Case(
        #"a = "x\#ty"#,
        #"f:1:5: syntax: the string has no closing quote"#),
    Case(
        #"a = "\ud800""#,
        #"f:1:12: syntax: the string has a bad escape"#),
    Case(
        #"[[a]]\#n[a]"#,
        #"f:2:1: syntax: this was defined before; a file holds each table and key once: join it with the first one"#),
    Case(
        #"a = [[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]"#,
        #"f:1:22: syntax: values are nested deeper than 16 levels"#),
    Case(
        #"a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a = 1"#,
        #"f:1:35: syntax: values are nested deeper than 16 levels"#),
    Case(
        #"a = 25:00:00"#,
        #"f:1:7: syntax: not a valid time"#),
    Case(
        #"a = []\#n[a.b]"#,
        #"f:2:1: syntax: this was defined before; a file holds each table and key once: join it with the first one"#),
    Case(
        #"a = []\#n[[a.b]]"#,
        #"f:2:1: syntax: this was defined before; a file holds each table and key once: join it with the first one"#),
    Case(
        #"a = []\#na.b = 1"#,
        #"f:2:1: syntax: this was defined before; a file holds each table and key once: join it with the first one"#),
    Case(
        #"provider = []\#n[provider.template]"#,
        #"f:2:1: syntax: this was defined before; a file holds each table and key once: join it with the first one"#),
    Case(
        #"a = {}\#n[a.b]"#,
        #"f:2:1: syntax: this clashes with an earlier definition"#),
    Case(
        #"a = 1\#n\#n[.]"#,
        #"f:3:1: syntax: not a key; without quotes it may have letters, digits, - and _"#),
    Case(
        #"a b = 1"#,
        #"f:1:3: syntax: a = is missing after the key"#),
    Case(
        #"a = # none"#,
        #"f:1:5: syntax: a value is missing after the ="#),
    Case(
        #"[]"#,
        #"f:1:2: syntax: the name of the table is missing"#),
    Case(
        #"[ [a]]"#,
        #"f:1:3: syntax: the brackets of [[table]] must be adjacent"#),
    Case(
        #"a = 99999999999999999999"#,
        #"f:1:5: syntax: the number is too large"#),
    Case(
        #"a = {b = 1 c = 2}"#,
        #"f:1:12: syntax: a , or the closing } of the inline table is missing"#),
]
