# Compares a page of the manual with its translation: sections, paragraphs, and what is the same in every language
# (settings, options, paths, quoted values, numbers, units, examples). By itself: after a review of the translation,
#
#     python3 Tests/EndToEnd/support/translation.py
#
# writes the digests of the English paragraphs, by which a test finds those that have changed since.

import difflib
import hashlib
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PAGES = ("httpdnsd.8", "httpdnsd.toml.5")
DIGESTS = ROOT / "Tests/EndToEnd/machine/translated.txt"

# The headings of the English pages that are words.
HEADINGS = {
    "NAME": "名称", "SYNOPSIS": "概要", "EXAMPLES": "示例", "DESCRIPTION": "说明", "OPTIONS": "选项", "START": "启动",
    "RIGHTS": "权限", "HOW A NAME IS ANSWERED": "域名如何得到应答", "SIGNED DATA": "签名数据",
    "CHOICE OF PROVIDERS": "服务商的选择", "VERIFIED ADDRESSES": "已验证的地址", "NETWORK CHANGES": "网络变化",
    "WHY A NAME IS ANSWERED SO": "应答的原因", "METRICS": "指标", "FILES WITH FAULTS": "有错误的文件", "LOG": "日志",
    "NOTIFICATIONS": "通知", "NFTABLES SETS": "nftables 集合", "A FLEET": "机群", "FLIGHT RECORDER": "飞行记录器",
    "AS A SERVICE": "作为服务运行", "BACKUP AND UPGRADE": "备份与升级", "ON A LAN": "在局域网中",
    "IN A CONTAINER": "在容器中", "LIMITS": "限制", "SIGNALS": "信号", "EXIT STATUS": "退出状态",
    "ENVIRONMENT": "环境变量", "FILES": "文件", "SEE ALSO": "另请参阅", "KEYS": "设置项",
    "At the top of the file": "文件顶部", "EXPECTED ANSWERS": "预期应答", "LISTS OF NAMES": "域名列表",
    "ANSWERS OF RULES": "规则的应答", "BLOCKED NAMES": "被屏蔽的域名", "LOCAL NAMES": "本地域名", "NAMES OF AN ACCOUNT": "账号的域名",
    "NAMES OF A NAMESERVER": "域名服务器的域名", "NAMES OF A LINK": "链路的域名", "VIEWS": "视图",
    "ADDRESS FAMILIES": "地址族",
}

# Texts in bold, italics or quotes that are words, not names of the program.
WORDS = {
    "needs a restart": "更改后需要重启", "httpdnsd does not validate.": "httpdnsd 自己不做验证。", "network": "网络",
    "address": "地址", "rights": "权限", "files": "文件", "plain": "普通格式", "hosts files": "hosts 文件",
    "lease files": "租约文件", "local zones": "本地区域", "no such name": "域名不存在", "no data": "无数据",
}

UNITS = {
    "s": "秒", "ms": "毫秒", "us": "微秒", "second": "秒", "seconds": "秒", "minute": "分钟", "minutes": "分钟",
    "hour": "小时", "hours": "小时", "day": "天", "days": "天", "bytes": "字节", "%": "%", "KiB": "KiB", "MiB": "MiB",
    "GiB": "GiB", "kB": "kB", "MB": "MB", "MB/s": "MB/s",
}

ESCAPES = {r"\-": "-", r"\(dq": '"', r"\(aq": "'", r"\(:u": "ü", r"\(bu": "•", r"\:": "", r"\%": "", r"\e": "\\"}
FONT = re.compile(r"\\f[BI](.*?)\\fR")
# So many English words in a row are a sentence that is not translated.
ENGLISH = re.compile(r"(?:\b[A-Za-z]+[ ,;.:]+){5}")


def plain(text):
    text = FONT.sub(r"\1", text)
    for escape, sign in ESCAPES.items():
        text = text.replace(escape, sign)
    return text


def arguments(line):
    return [quoted or word for quoted, word in re.findall(r'"([^"]*)"|(\S+)', line)][1:]


@dataclass
class Paragraph:
    """A paragraph with the macro that begins it, such as ".TP" or ".IP •"."""

    macro: str
    # The subject of an entry of a list, and the names in it.
    tag: str = ""
    tag_names: set = field(default_factory=set)
    text: str = ""
    # What stands in bold, italics or quotes, or in the first column of a table.
    names: set = field(default_factory=set)
    code: list = field(default_factory=list)
    # All text but names.
    prose: str = ""
    source: list = field(default_factory=list)

    def __str__(self):
        words = (self.tag or self.text or " ".join(self.code)).strip()
        return f'{self.macro} "{words[:60]}"'

    def key(self):
        """What a paragraph and its translation have in common."""
        return self.macro, frozenset(WORDS.get(name, translated_heading(name)) for name in self.tag_names | self.names)

    def is_counterpart(self, other):
        """Whether one may translate the other, with faults."""
        tags = [{WORDS.get(name, name) for name in one.tag_names} for one in (self, other)]
        return self.macro == other.macro and tags[0] == tags[1]

    def digest(self):
        return hashlib.sha256("\n".join(self.source).encode()).hexdigest()[:6]

    def add(self, parts, is_tag):
        """Adds one line of parts, each with whether it is a name."""
        line = "".join(plain(part) for part, _ in parts)
        names = {plain(part).strip() for part, is_name in parts if is_name} | set(re.findall(r'"([^"]*)"', line))
        roman = "".join(plain(part) for part, is_name in parts if not is_name)
        if is_tag:
            self.tag = f"{self.tag} {line}".strip()
            self.tag_names |= names
        self.text += f" {line}"
        self.names |= names
        self.prose += " " + re.sub(r'"[^"]*"', '"', roman)


class Page:
    """A page: the paragraphs of each section, by its heading."""

    def __init__(self, source):
        self.sections = {}
        self._is_code = self._is_tag = self._is_table = False
        for line in source.splitlines():
            self._read(line)
        for paragraphs in self.sections.values():
            paragraphs[:] = [paragraph for paragraph in paragraphs if paragraph.text or paragraph.code]

    def _read(self, line):
        macro = line.split(" ")[0] if line.startswith(".") else ""
        if macro in (".SH", ".SS"):
            heading = plain(" ".join(arguments(line)))
            self.sections[heading] = [Paragraph(macro)]
        if not self.sections:
            return
        if macro in (".TP", ".PP", ".IP"):
            self._current.append(Paragraph(plain(" ".join([macro, *arguments(line)]))))
        paragraph = self._current[-1]
        paragraph.source.append(line)
        self._is_code = (self._is_code or macro in (".EX", ".nf")) and macro not in (".EE", ".fi")
        self._is_table = (self._is_table or macro == ".TS") and macro != ".TE"
        if macro in (".TP", ".TQ"):
            self._is_tag = True
        elif self._is_code and not macro:
            paragraph.code.append(plain(re.sub(r"\s{2,}#.*", "", line)))
        elif parts := self._parts(line, macro):
            paragraph.add(parts, self._is_tag)
            self._is_tag = False

    @property
    def _current(self):
        return self.sections[next(reversed(self.sections))]

    def _parts(self, line, macro):
        if macro in (".B", ".I"):
            return [(" ".join(arguments(line)), True)]
        if re.fullmatch(r"\.[BIR]{2}", macro):
            return [(word, macro[1 + index % 2] != "R") for index, word in enumerate(arguments(line))]
        if macro or line.startswith("'"):
            return []
        if self._is_table:
            # Settings of the table; a row; the end of a cell.
            if line.startswith("tab(") or re.fullmatch(r"[lbx ]+\.?", line) or line == "T}":
                return []
            if line.endswith("|T{"):
                return [(line.removesuffix("|T{"), True)]
        return [(part, index % 2 == 1) for index, part in enumerate(FONT.split(line)) if part]


def translated_heading(heading):
    return HEADINGS.get(heading, heading)


def complaints_about(english, chinese):
    """The differences of two paragraphs."""
    found = []
    if english.tag and " = " in english.tag and english.tag != chinese.tag:
        found.append(f"has {chinese.tag} in place of {english.tag}")
    headings = set(HEADINGS) | set(HEADINGS.values())
    expected, present = english.names - headings, chinese.names - headings
    words = {WORDS[name] for name in expected if name in WORDS and name not in present}
    expected = {name for name in expected if name not in WORDS or name in present}
    found += [f"lacks {name}" for name in sorted(expected - present)]
    found += [f"lacks {word}" for word in sorted(words) if word not in chinese.text]
    found += [f"has {name}, which the English has not" for name in sorted(present - expected - words)]
    if english.code != chinese.code:
        found += difflib.unified_diff(english.code, chinese.code, "English", "Chinese", lineterm="", n=0)
    found += [f"lacks the number {number}" for number in sorted(numbers(english) - numbers(chinese))]
    for number, unit in re.findall(r"(\d[\d.,]*) ([A-Za-z%/]+)", english.text):
        if unit in UNITS and not re.search(rf"(?<![\d.,]){re.escape(number)} ?{re.escape(UNITS[unit])}", chinese.text):
            found.append(f"lacks {number} {UNITS[unit]} ({number} {unit})")
    for heading, translated in HEADINGS.items():
        is_named = heading.isupper() and heading != "NAME" and re.search(rf"\b{heading}\b", english.text)
        if is_named and translated not in chinese.text:
            found.append(f"does not name the section {translated} ({heading})")
    sentence = ENGLISH.search(chinese.prose)
    is_text = len(re.findall(r"[a-z]{2,}", english.prose)) > 2
    if sentence or (is_text and not re.search(r"[\u4e00-\u9fff]", chinese.text)):
        found.append(f"is in English: {(sentence[0] if sentence else chinese.text).strip()}")
    return found


def numbers(paragraph):
    return set(re.findall(r"\d+(?:[.,]\d+)*", paragraph.text))


def differences(english, chinese):
    """What a translation lacks or has too much, one line for each finding."""
    wanted, present = [translated_heading(heading) for heading in english.sections], list(chinese.sections)
    found = [f"no section {name}" for name in wanted if name not in present]
    found += [f"section {name} is not in the English page" for name in present if name not in wanted]
    if not found and wanted != present:
        found.append(f"the sections have another order: {', '.join(present)}")
    for heading, paragraphs in english.sections.items():
        others = chinese.sections.get(translated_heading(heading))
        if others is not None:
            found += [f"{heading}: {what}" for what in differences_of_sections(paragraphs, others)]
    return found


def differences_of_sections(paragraphs, others):
    matcher = difflib.SequenceMatcher(None, [one.key() for one in paragraphs], [one.key() for one in others], False)
    for _, start, end, other_start, other_end in matcher.get_opcodes():
        pairs = list(zip(paragraphs[start:end], others[other_start:other_end]))
        if end - start != other_end - other_start or not all(one.is_counterpart(other) for one, other in pairs):
            yield from (f"nothing translates {paragraph}" for paragraph in paragraphs[start:end])
            yield from (f"translates nothing: {other}" for other in others[other_start:other_end])
            continue
        for paragraph, other in pairs:
            yield from (f"{paragraph}: the translation {complaint}" for complaint in complaints_about(paragraph, other))


def read(name, language=""):
    return Page((ROOT / "etc/man" / language / name).read_text())


def digests(name, page):
    """A line for each section of the page: the digests of its paragraphs."""
    return [f"{name}|{heading}|{' '.join(paragraph.digest() for paragraph in paragraphs)}"
            for heading, paragraphs in page.sections.items()]


def changed_since(name, page, known):
    """The English paragraphs whose digest is not among the known ones of their section."""
    sections = {tuple(line.split("|")[:2]): line.split("|")[2].split() for line in known}
    for heading, paragraphs in page.sections.items():
        before = sections.get((name, heading), [])
        yield from (f"{heading}: {paragraph}" for paragraph in paragraphs if paragraph.digest() not in before)


def main():
    lines = [line for name in PAGES for line in digests(name, read(name))]
    DIGESTS.write_text("".join(f"{line}\n" for line in lines))
    for name in PAGES:
        for difference in differences(read(name), read(name, "zh_CN")):
            print(f"{name}: {difference}", file=sys.stderr)


if __name__ == "__main__":
    main()
