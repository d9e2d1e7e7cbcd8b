"""The service's description for people: its OpenAPI document as a page of plain HTML, without scripts.

FastAPI's own page loads its scripts from elsewhere; whoever reads this one asks nobody but the curator.
"""

from __future__ import annotations

from html import escape
from typing import Any

from tacit.page import Html, Page, policy, table

HEADERS = {
    "Content-Security-Policy": policy([]),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
LIMITS = ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "pattern", "const", "default")


def html(document: dict[str, Any]) -> str:
    """An OpenAPI document as a page: every request with what it takes and answers, then every message."""
    title = f"{document['info']['title']}, version {document['info']['version']}"
    about = f"<h1>{escape(title)}</h1><p>{escape(document['info'].get('description', ''))}</p>"
    parts = {"about": about + '<p>The same for programs: <a href="openapi.json">openapi.json</a></p><h2>Requests</h2>'}
    for path, methods in document["paths"].items():
        for method, told in methods.items():
            parts[told["operationId"]] = _request(f"{method.upper()} {path}", told)
    parts["messages"] = "<h2>Messages</h2>"
    for name, schema in sorted(document["components"]["schemas"].items()):
        parts[name] = _message(name, schema)
    return Page(title, parts).html()


def _request(name: str, told: dict[str, Any]) -> str:
    takes = [
        [p["name"], p["in"], Html(_kind(p["schema"])), "needed" if p.get("required") else "", p.get("description", "")]
        for p in told.get("parameters", ())
    ]
    body = told.get("requestBody", {})
    needed = "needed" if body.get("required") else ""
    takes += [["", "body", Html(_kind(c["schema"])), needed, ""] for c in body.get("content", {}).values()]
    answers = []
    for status, answer in told["responses"].items():
        kinds = [_kind(c["schema"]) for c in answer.get("content", {}).values() if c.get("schema")]
        answers.append([status, Html(", ".join(kinds)), answer["description"]])
    return _part(name, told, ("takes", "in", "type", "", "about"), takes) + _rows(("answers", "type", "about"), answers)


def _message(name: str, schema: dict[str, Any]) -> str:
    needed = schema.get("required", ())
    fields = [
        [field, Html(_kind(of)), "needed" if field in needed else "", of.get("description", "")]
        for field, of in schema.get("properties", {}).items()
    ]
    return _part(name, schema, ("field", "type", "", "about"), fields)


def _part(name: str, told: dict[str, Any], heads: tuple[str, ...], rows: list[list[Any]]) -> str:
    about = f"<p>{escape(told['description'])}</p>" if told.get("description") else ""
    return f"<h3><code>{escape(name)}</code></h3>{about}{_rows(heads, rows)}"


def _rows(heads: tuple[str, ...], rows: list[list[Any]]) -> str:
    return table(heads, rows, words=heads, long=("about",)) if rows else ""


def _kind(schema: dict[str, Any]) -> str:
    """A schema in a few words of HTML, with a link where it names a message."""
    if "$ref" in schema:
        name = escape(schema["$ref"].rsplit("/", 1)[1])
        return f'<a href="#{name}">{name}</a>'
    if "anyOf" in schema:
        return " or ".join(_kind(s) for s in schema["anyOf"])
    kind = f"list of {_kind(schema.get('items', {}))}" if schema.get("type") == "array" else schema.get("type", "any")
    limits = [f"{word} <code>{escape(str(schema[word]))}</code>" for word in LIMITS if word in schema]
    return ", ".join([kind, *limits])
