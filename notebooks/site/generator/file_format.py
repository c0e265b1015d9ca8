"""The page of the file format: what FORMAT.md says, and the fields of the JSON Schema."""

import json
from pathlib import Path

import mechdesign
from mechdesign.certificate import verify

FOLDER = Path(mechdesign.__file__).parent / "certificate"
#: The form of files as JSON Schema, which the page offers under this name.
NAME, SCHEMA = "design.schema.json", verify.FORM


def kind(value: dict | bool) -> str:
    """What a schema allows, in one phrase."""
    if value is False:
        return "not there"
    if "$ref" in value:
        return f"[{value['$ref'].split('/')[-1]}](#schema-{value['$ref'].split('/')[-1]})"
    if "const" in value:
        return f"`{json.dumps(value['const'])}`"
    if "enum" in value:
        return " or ".join(f"`{json.dumps(each)}`" for each in value["enum"])
    if "anyOf" in value:
        return " or ".join(dict.fromkeys(kind(each) for each in value["anyOf"]))
    of = value.get("type", "anything")
    of = " or ".join(of) if isinstance(of, list) else of
    if "prefixItems" in value:
        return f"array of {', '.join(kind(each) for each in value['prefixItems'])}"
    if isinstance(value.get("items"), dict):
        return f"{of} of {kind(value['items'])}"
    return of


def rows(value: dict) -> str:
    """The fields of an object as a table."""
    lines = ["| field | is | must be there |", "| --- | --- | --- |"]
    for name, field in value.get("properties", {}).items():
        must = "yes" if name in value.get("required", ()) else ""
        lines.append(f"| `{name}` | {kind(field)} | {must} |")
    return "\n".join(lines) + "\n"


def page() -> str:
    """What FORMAT.md says, then the schema."""
    text = (FOLDER / "FORMAT.md").read_text(encoding="utf-8").rstrip()
    text += "\n\n## JSON Schema\n\nThe form alone, for programs: "
    text += f"{{download}}`{NAME} <{NAME}>` (draft 2020-12). Every file has\n\n"
    text += rows(SCHEMA)
    for part in SCHEMA["allOf"]:
        asked = part["if"]["properties"].get("kind")
        if asked:
            names = asked.get("enum", [asked.get("const")])
            text += f"\nand of kind {' or '.join(f'*{name}*' for name in names)} also\n\n"
            text += rows(part["then"])
    for name, value in SCHEMA["$defs"].items():
        text += f"\n(schema-{name})=\n### `{name}`\n\n"
        text += rows(value) if "properties" in value else kind(value) + "\n"
    return text
