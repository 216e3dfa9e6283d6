"""Sentences that source code says, read from its syntax: what goes into it at run time is a sample."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path

SAMPLE = "7"
SENTENCE = "This computer is offline."
"""For an error's message that becomes part of another's."""
_Function = ast.FunctionDef | ast.AsyncFunctionDef


class Sentences:
    """Constants are known by their name in all ``files``; local names by what their function gives them."""

    def __init__(self, files: Iterable[Path]) -> None:
        self._trees = {file: ast.parse(file.read_text(encoding="utf-8")) for file in files}
        self._constants: dict[str, str] = {}
        for tree in self._trees.values():
            for node in tree.body:
                match node:
                    case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str(text))):
                        self._constants[name] = text
                    case _:
                        pass

    def of_calls(self, file: Path, names: set[str]) -> Iterator[tuple[int, str, list[str]]]:
        """Line, name and texts of each call of one of ``names``; texts that are given through are left out."""
        for function, call in _calls(self._trees[file]):
            name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
            if name in names:
                texts = [text for each in call.args[:3] for text in self._texts(each, function)]
                yield call.lineno, name, [text for text in texts if text.replace(SAMPLE, "").strip()]

    def _texts(self, node: ast.expr | None, function: _Function | None, depth: int = 0) -> list[str]:
        if node is None or depth > 6:
            return [SAMPLE]
        match node:
            case ast.Constant(value=str(text)):
                return [text]
            case ast.JoinedStr(values=parts):
                return _joined([self._texts(part, function, depth + 1) for part in parts])
            case ast.Attribute(attr="message") | ast.FormattedValue(value=ast.Name(id="reason")):
                return [SENTENCE]
            case ast.FormattedValue(value=value):
                return self._texts(value, function, depth + 1)
            case ast.BinOp(op=ast.Add(), left=left, right=right):
                return _joined([self._texts(each, function, depth + 1) for each in (left, right)])
            case ast.IfExp(body=body, orelse=orelse):
                return self._texts(body, function, depth + 1) + self._texts(orelse, function, depth + 1)
            case ast.Call(func=ast.Attribute(value=table, attr="get"), args=[_, default]):
                values = self._table(table, function)
                return [text for each in (*values, default) for text in self._texts(each, function, depth + 1)]
            case ast.Name(id=name) if name in self._constants:
                return [self._constants[name]]
            case ast.Name(id=name):
                given = _assigned(function, name)
                return [text for each in given for text in self._texts(each, function, depth + 1)] or [SAMPLE]
            case _:
                return [SAMPLE]

    def _table(self, node: ast.expr, function: _Function | None) -> list[ast.expr]:
        if isinstance(node, ast.Dict):
            return node.values
        given = _assigned(function, node.id) if isinstance(node, ast.Name) else []
        return [value for each in given if isinstance(each, ast.Dict) for value in each.values]


def _joined(parts: list[list[str]]) -> list[str]:
    return ["".join(each) for each in product(*parts)]


def _assigned(function: _Function | None, name: str) -> list[ast.expr]:
    nodes = [node for node in ast.walk(function) if isinstance(node, ast.Assign)] if function else []
    return [
        node.value
        for node in nodes
        if any(isinstance(target, ast.Name) and target.id == name for target in node.targets)
    ]


def _calls(tree: ast.Module) -> Iterator[tuple[_Function | None, ast.Call]]:
    def walk(node: ast.AST, function: _Function | None) -> Iterator[tuple[_Function | None, ast.Call]]:
        for child in ast.iter_child_nodes(node):
            inner = child if isinstance(child, _Function) else function
            if isinstance(child, ast.Call):
                yield inner, child
            yield from walk(child, inner)

    yield from walk(tree, None)
