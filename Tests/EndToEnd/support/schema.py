# The JSON Schema of the settings, with python3-jsonschema and tomllib, which share no code with the daemon.

import functools
import json
import tomllib

import jsonschema
import paths

FILE = paths.ROOT / "etc/httpdnsd.schema.json"


@functools.cache
def document():
    return json.loads(FILE.read_text())


@functools.cache
def _validator():
    return jsonschema.Draft7Validator(document())


def faults(text):
    """What the schema refuses in a settings file, each with its place."""
    # The daemon ignores a byte order mark.
    settings = tomllib.loads(text.removeprefix("\ufeff"))
    return [f"{'.'.join(map(str, error.absolute_path))}: {error.message}"
            for error in _validator().iter_errors(settings)]


@functools.cache
def keys():
    """The schema of each key by its table's header, "" for the top, and its name."""
    found = {}
    for name, schema in document()["properties"].items():
        if schema.get("type") == "object":
            found |= {(f"[{name}]", key): each for key, each in schema["properties"].items()}
        elif schema.get("items", {}).get("type") == "object":
            table = schema["items"]["properties"]
            found |= {(f"[[{name}]]", key): each for key, each in table.items() if key != "template"}
            if "template" in table:
                found |= {(f"[{name}.template]", key): each
                          for key, each in table["template"]["properties"].items()}
        else:
            found["", name] = schema
    return found


@functools.cache
def _validator_of(table, key):
    return jsonschema.Draft7Validator(keys()[table, key])


def accepts(table, key, value):
    return _validator_of(table, key).is_valid(value)
