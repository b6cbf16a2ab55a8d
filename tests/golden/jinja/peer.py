"""Renders templates with Jinja, as transformers 5 sets it up.

Reads a file with {"values": {...}, "templates": [...]}; prints one {"text"} or {"error"} for each.
"""

import copy
import json
import sys

import jinja2
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment


class Generation(Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        call = self.call_method("_text")
        return jinja2.nodes.CallBlock(call, [], [], body).set_lineno(line)

    def _text(self, caller):
        return caller()


class Namespace(jinja2.utils.Namespace):
    def __init__(*args, **kwargs):
        self, args = args[0], args[1:]
        fields = dict(*args, **kwargs)
        for name in fields:
            Namespace._check(name)
        jinja2.utils.Namespace.__init__(self, fields)

    def __setitem__(self, name, value):
        Namespace._check(name)
        jinja2.utils.Namespace.__setitem__(self, name, value)

    @staticmethod
    def _check(name):
        if isinstance(name, str) and name.startswith("_"):
            raise jinja2.exceptions.SecurityError(name)


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(
        value,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=separators,
        sort_keys=sort_keys,
    )


environment = ImmutableSandboxedEnvironment(
    trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols]
)
environment.filters["tojson"] = tojson
environment.globals["raise_exception"] = raise_exception
environment.globals["namespace"] = Namespace


def render(template, values):
    try:
        # The filter indent adds to a list that it is given before it fails, so each has its own.
        return {"text": environment.from_string(template).render(**copy.deepcopy(values))}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


with open(sys.argv[1], encoding="utf-8") as file:
    given = json.load(file)
print(json.dumps([render(one, given["values"]) for one in given["templates"]]))
