# Chinese output of programs: what is left of English in it, and its width on a terminal.

import os
import re
import unicodedata

# The environment of an operator who reads Chinese.
ENVIRONMENT = {**{name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG"))},
               "LANG": "zh_CN.UTF-8"}
SETTING = ("env", "-u", "LC_ALL", "-u", "LANGUAGE", "LANG=zh_CN.UTF-8")

# English sentences have at least one of these words.
_WORDS = {"a", "an", "and", "are", "by", "can", "does", "for", "has", "have", "is", "it", "its", "not", "or", "that", "the",
          "this", "to", "was", "which", "with", "your"}


def english(text):
    """The lines with an English sentence."""
    return [line for line in text.splitlines() if _WORDS & set(re.findall(r"(?<![^ ])[a-z]+(?=[ ,.:;]|$)", line))]


def columns(text):
    """The columns that a terminal needs."""
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)
