"""Reading YAML of people: plain values, lists and mappings, and nothing that makes an object or hides an entry.

Tags, anchors and a key that is there twice are refused; what looks like a time is a text.
"""

from typing import Any

import yaml
from yaml.constructor import ConstructorError

PLAIN = {"tag:yaml.org,2002:" + name for name in ("bool", "int", "float", "null")}
DEEPEST = 20  # lists in lists; beyond any setting, and far from the interpreter's own limit


class PlainLoader(yaml.SafeLoader):
    """The safe loader without what no setting needs."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event = self.peek_event()
        tag = getattr(event, "tag", None)
        if tag is not None:
            refuse(event, f"the tag {tag.replace('tag:yaml.org,2002:', '!!')} is no plain value")
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            refuse(event, f"the anchor {event.anchor} is no plain value")
        if self.depth == DEEPEST:
            refuse(event, f"is nested more than {DEEPEST} deep")
        self.depth += 1
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        made = super().construct_mapping(node, deep=deep)
        for key_node, _ in node.value:
            key = self.construct_object(key_node)
            if key in seen:
                refuse(key_node, f"'{key}' is there twice, expected it once")
            seen.add(key)
        return made


PlainLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in known if tag in PLAIN]
    for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def refuse(found: Any, problem: str) -> None:
    raise ConstructorError(problem=problem, problem_mark=found.start_mark)


def read(text: str) -> Any:
    """What a text holds. Raises ValueError with the line for what is no YAML, or none of plain values."""
    try:
        return yaml.load(text, PlainLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        broken = "" if isinstance(error, ConstructorError) else "not YAML: "
        raise ValueError(f"line {mark.line + 1 if mark else 1}: {broken}{error.problem}") from None
    except yaml.YAMLError as error:
        raise ValueError(f"not YAML: {' '.join(str(error).split())}") from None
    except ValueError as error:  # digits without end, an infinity of underscores
        raise ValueError(f"not YAML: {error}") from None


def parse_value(text: str) -> Any:
    """A single setting as `read` has it. Raises ValueError as `read` does."""
    value = read(text)
    if isinstance(value, str):  # YAML 1.1 reads 1e-3 as text
        try:
            return float(value)
        except ValueError:
            return value
    return value
