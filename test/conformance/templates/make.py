"""Golden texts of templates. In: expressions.json, conversations.json and templates. Out: jinja2's output.

Run with jinja2 3.1.6:  python test/conformance/templates/make.py [FOLDER OUT]
Without arguments it writes golden/expressions.json, and the SHA-256 of the texts to golden/published.json. With a folder of other templates it
renders these against the conversations into the file OUT, which check.ts compares.
The environment is the same as in Transformers: a sandbox with trim_blocks, lstrip_blocks, loop controls, its `tojson`.
"""
import hashlib
import json
import sys
from datetime import datetime
from pathlib import Path

import jinja2
import jinja2.ext
import jinja2.nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

HERE = Path(__file__).parent
NOW = datetime(2026, 7, 4, 9, 5)


class Generation(jinja2.ext.Extension):
    """Implements the tag `generation`, which renders its body unchanged."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("write"), [], [], body).set_lineno(line)

    def write(self, caller):
        return caller()


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def refuse(message):
    raise jinja2.exceptions.TemplateError(message)


ENVIRONMENT = ImmutableSandboxedEnvironment(
    trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols]
)
ENVIRONMENT.filters["tojson"] = tojson
ENVIRONMENT.globals["raise_exception"] = refuse
ENVIRONMENT.globals["strftime_now"] = NOW.strftime


def render(source, variables):
    """The text, or None if jinja2 rejects the template or the values."""
    try:
        return ENVIRONMENT.from_string(source).render(**variables)
    except Exception:
        return None


def expressions():
    given = json.loads((HERE / "expressions.json").read_text("utf-8"))
    cases = [[source, render(source, given["variables"])] for source in given["templates"]]
    write(HERE / "golden" / "expressions.json", cases)


def digest(text):
    return None if text is None else hashlib.sha256(text.encode("utf-8")).hexdigest()


def published(folder, out, stored=lambda text: text):
    conversations = json.loads((HERE / "conversations.json").read_text("utf-8"))
    defaults = {"bos_token": "<s>", "eos_token": "</s>", "documents": None, "tools": None}
    texts = {}
    for path in sorted(folder.glob("*.jinja")):
        source = path.read_text("utf-8")
        texts[path.stem] = {
            name: stored(render(source, {**defaults, "add_generation_prompt": True, **variables}))
            for name, variables in conversations.items()
        }
    write(out, texts)


def write(path, value):
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", "utf-8")


if len(sys.argv) > 1:
    published(Path(sys.argv[1]), Path(sys.argv[2]))
else:
    expressions()
    published(HERE / "published", HERE / "golden" / "published.json", digest)
