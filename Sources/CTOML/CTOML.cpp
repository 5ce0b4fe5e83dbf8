// The only code that uses toml11. Limits the input's lines and nesting before toml11 parses it, and converts its error
// messages into a position and a reason.
#include "CTOML.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <new>
#include <sstream>
#include <string>
#include <toml.hpp>
#include <utility>
#include <vector>

// std::map, so that the order of a table does not depend on a hash.
using Value = toml::basic_value<toml::discard_comments, std::map, std::vector>;

struct ctoml_document {
    Value root;
    std::vector<ctoml_node> nodes;
    std::vector<const Value *> values;
};

namespace {

ctoml_place place_in_line(size_t line, const std::string &text, size_t bytes_before) {
    const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(bytes_before, text.size()));
    const auto characters = std::count_if(text.begin(), end, [](char c) { return (c & 0xC0) != 0x80; });
    return {line, static_cast<size_t>(characters) + 1};
}

// Scans brackets, strings and comments, only to limit lines and nesting.
class Bounds {
  public:
    explicit Bounds(const std::string &text) : text_(text) {}

    // Returns NULL if all limits are kept.
    const char *first_excess(ctoml_place &place) {
        while (at_ < text_.size()) {
            if (const char *excess = step()) {
                place = {line_, 1};
                return excess;
            }
        }
        return nullptr;
    }

  private:
    enum class Inside { nothing, comment, string, multiline };

    const char *step() {
        const char c = text_[at_];
        if (c == '\n') {
            return end_line();
        }
        if (at_ - line_start_ >= ctoml_max_line_bytes) {
            return "the line is longer than 4096 bytes";
        }
        if (inside_ == Inside::nothing) {
            return open(c);
        }
        if (inside_ == Inside::comment) {
            at_ += 1;
        } else {
            close(c);
        }
        return nullptr;
    }

    const char *end_line() {
        at_ += 1;
        line_ += 1;
        line_start_ = at_;
        dots_ = 0;
        if (inside_ != Inside::multiline) {
            inside_ = Inside::nothing;
        }
        return nullptr;
    }

    const char *open(char c) {
        if (c == '"' || c == '\'') {
            quote_ = c;
            const bool three = text_.compare(at_, 3, std::string(3, c)) == 0;
            inside_ = three ? Inside::multiline : Inside::string;
            at_ += three ? 3 : 1;
            return nullptr;
        }
        at_ += 1;
        switch (c) {
        case '#': inside_ = Inside::comment; break;
        case '[': case '{': depth_ += 1; dots_ = 0; break;
        case ']': case '}': depth_ -= depth_ > 0 ? 1 : 0; dots_ = 0; break;
        case '=': case ',': dots_ = 0; break;
        case '.': dots_ += 1; break;
        default: break;
        }
        const bool is_deep = depth_ > ctoml_max_depth || dots_ > ctoml_max_depth;
        return is_deep ? "values are nested deeper than 16 levels" : nullptr;
    }

    void close(char c) {
        if (c == '\\' && quote_ == '"') {
            // Skips the escaped character too, unless it is a line end, which must be counted.
            at_ += at_ + 1 < text_.size() && text_[at_ + 1] != '\n' ? 2 : 1;
        } else if (c != quote_) {
            at_ += 1;
        } else if (inside_ == Inside::string) {
            inside_ = Inside::nothing;
            at_ += 1;
        } else if (text_.compare(at_, 3, std::string(3, quote_)) == 0) {
            inside_ = Inside::nothing;
            at_ += 3;
        } else {
            at_ += 1;
        }
    }

    const std::string &text_;
    size_t at_ = 0;
    size_t line_ = 1;
    size_t line_start_ = 0;
    size_t depth_ = 0;
    size_t dots_ = 0;
    Inside inside_ = Inside::nothing;
    char quote_ = 0;
};

struct Reason {
    const char *found;
    const char *reason;
};

// First lines of toml11's messages, the most specific word first.
const Reason reasons[] = {
    {"missing value after", "a value is missing after the ="},
    {"missing key-value separator", "a = is missing after the key"},
    {"empty key", "a key is missing before the ="},
    {"an invalid key appeared", "neither a key nor a [table] header"},
    {"newline required", "a table header must end its line"},
    {"invalid line format", "a line must end after its value"},
    {"array separator", "a , or the closing ] of the array is missing"},
    {"in an array", "not a value that an array can hold"},
    {"array did not closed", "the closing ] of the array is missing"},
    {"trailing comma", "no , may stand before the } of an inline table"},
    {"curly brace", "the closing } of the inline table is missing"},
    {"parse_inline_table", "the inline table is not well formed"},
    {"already exists", "this was defined before; a file holds each table and key once: join it with the first one"},
    {"insert_value", "this clashes with an earlier definition"},
    {"ml_", "the string of several lines has no end, or a bad character or escape"},
    {"string", "the string has no closing quote, or a bad character or escape"},
    {"escape", "the string has a bad escape"},
    {"codepoint", "the string has a bad escape"},
    {"date", "not a valid date"},
    {"time", "not a valid time"},
    {"no `]", "the closing ] of the table header is missing"},
    {"parse_array_table_key", "the closing ]] of the table header is missing"},
    {"leading zero", "a number may not start with a zero"},
};

const char *reason_for(const std::string &message) {
    const std::string first_line = message.substr(0, message.find('\n'));
    for (const auto &candidate : reasons) {
        if (first_line.find(candidate.found) != std::string::npos) {
            return candidate.reason;
        }
    }
    return "not a value (a string needs quotes)";
}

// toml11 prints "12 | text" and under it "   |   ^--- why". The last such pair marks the error.
bool last_drawn_place(const std::string &message, ctoml_place &place) {
    std::istringstream lines(message);
    std::string above, line;
    bool found = false;
    for (; std::getline(lines, line); above = line) {
        const size_t bar = line.find_first_not_of(' ');
        const size_t mark = bar == std::string::npos ? bar : line.find_first_not_of(' ', bar + 1);
        if (mark == std::string::npos || line[bar] != '|' || (line[mark] != '^' && line[mark] != '~')) {
            continue;
        }
        const size_t number = above.find_first_not_of(' ');
        if (number == std::string::npos || !std::isdigit(static_cast<unsigned char>(above[number]))) {
            continue;
        }
        const std::string text = above.size() > bar + 2 ? above.substr(bar + 2) : "";
        place = place_in_line(std::stoul(above.substr(number)), text, mark - std::min(mark, bar + 2));
        found = true;
    }
    return found;
}

ctoml_problem problem_from(const toml::exception &error) {
    const std::string message = error.what();
    ctoml_problem problem = {{error.location().line(), 1}, reason_for(message)};
    last_drawn_place(message, problem.place);
    return problem;
}

ctoml_node node_for(const Value &value, const std::string *key) {
    ctoml_node node = {};
    node.key = key ? key->data() : nullptr;
    node.key_bytes = key ? key->size() : 0;
    switch (value.type()) {
    case toml::value_t::boolean:
        node.kind = ctoml_boolean;
        node.integer = value.as_boolean(std::nothrow) ? 1 : 0;
        break;
    case toml::value_t::integer:
        node.kind = ctoml_integer;
        node.integer = value.as_integer(std::nothrow);
        break;
    case toml::value_t::string:
        node.kind = ctoml_string;
        node.text = value.as_string(std::nothrow).str.data();
        node.text_bytes = value.as_string(std::nothrow).str.size();
        break;
    case toml::value_t::floating:
        node.kind = ctoml_float;
        node.number = value.as_floating(std::nothrow);
        break;
    case toml::value_t::array: node.kind = ctoml_array; break;
    case toml::value_t::table: node.kind = ctoml_table; break;
    default: node.kind = ctoml_date_or_time; break;
    }
    return node;
}

void append(ctoml_document &document, const Value &value, const std::string *key) {
    document.nodes.push_back(node_for(value, key));
    document.values.push_back(&value);
}

// Breadth first, so that the children of a node are adjacent.
void flatten(ctoml_document &document) {
    append(document, document.root, nullptr);
    for (size_t parent = 0; parent < document.nodes.size(); parent++) {
        const Value &value = *document.values[parent];
        document.nodes[parent].first_child = document.nodes.size();
        if (value.is_table()) {
            for (const auto &member : value.as_table(std::nothrow)) {
                append(document, member.second, &member.first);
            }
        } else if (value.is_array()) {
            for (const auto &element : value.as_array(std::nothrow)) {
                append(document, element, nullptr);
            }
        }
        document.nodes[parent].child_count = document.nodes.size() - document.nodes[parent].first_child;
    }
}

// Whether an odd number of backslashes is in front of it.
bool is_escaped(const std::string &line, size_t at) {
    const size_t last = at == 0 ? std::string::npos : line.find_last_not_of('\\', at - 1);
    return (at - (last == std::string::npos ? 0 : last + 1)) % 2 == 1;
}

// toml11 reports positions of values, not of keys: step back over the "=" to the start of the key.
size_t key_start(const std::string &line, size_t value_start) {
    const auto back_over_blanks = [&line](size_t at) {
        while (at > 0 && (line[at - 1] == ' ' || line[at - 1] == '\t')) {
            at -= 1;
        }
        return at;
    };
    size_t at = back_over_blanks(std::min(value_start, line.size()));
    if (at == 0 || line[at - 1] != '=') {
        return value_start;
    }
    at = back_over_blanks(at - 1);
    if (at > 0 && (line[at - 1] == '"' || line[at - 1] == '\'')) {
        size_t quote = at < 2 ? std::string::npos : line.rfind(line[at - 1], at - 2);
        while (line[at - 1] == '"' && quote != std::string::npos && is_escaped(line, quote)) {
            quote = quote == 0 ? std::string::npos : line.rfind('"', quote - 1);
        }
        return quote == std::string::npos ? value_start : quote;
    }
    const auto is_bare = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_'; };
    while (at > 0 && is_bare(line[at - 1])) {
        at -= 1;
    }
    return at;
}

ctoml_place place_of(const ctoml_document *document, size_t node, bool of_key) {
    try {
        const auto location = document->values.at(node)->location();
        const size_t value_start = location.column() - 1;
        const size_t start = of_key ? key_start(location.line_str(), value_start) : value_start;
        return place_in_line(location.line(), location.line_str(), start);
    } catch (...) {
        return {1, 1};
    }
}

}  // namespace

ctoml_document *ctoml_parse(const char *bytes, size_t count, ctoml_problem *problem) {
    *problem = {{1, 1}, "there is not enough memory to read it"};
    if (count > ctoml_max_bytes) {
        problem->reason = "the file is larger than 1 MiB";
        return nullptr;
    }
    ctoml_document *document = nullptr;
    try {
        const std::string text(bytes, count);
        if (const char *excess = Bounds(text).first_excess(problem->place)) {
            problem->reason = excess;
            return nullptr;
        }
        std::istringstream input(text);
        Value root = toml::parse<toml::discard_comments, std::map, std::vector>(input, "settings");
        document = new ctoml_document{std::move(root), {}, {}};
        flatten(*document);
        return document;
    } catch (const toml::exception &error) {
        try {
            *problem = problem_from(error);
        } catch (...) {
            problem->reason = "not valid TOML";
        }
    } catch (const std::bad_alloc &) {
        problem->reason = "there is not enough memory to read it";
    } catch (...) {
        problem->reason = "not valid TOML";
    }
    delete document;
    return nullptr;
}

void ctoml_free(ctoml_document *document) {
    delete document;
}

const ctoml_node *ctoml_nodes(const ctoml_document *document, size_t *count) {
    *count = document->nodes.size();
    return document->nodes.data();
}

ctoml_place ctoml_key_place(const ctoml_document *document, size_t node) {
    return place_of(document, node, true);
}

ctoml_place ctoml_value_place(const ctoml_document *document, size_t node) {
    return place_of(document, node, false);
}
