"""Parses the conditions of If, Elif and Else into the tree of conditions.py; never with `eval`.

    or:       and ("||" and)*
    and:      relation ("&&" relation)*
    relation: unary (("==" | "!=" | "<=" | ">=" | "<" | ">") unary)*
    unary:    ("!" | "-") unary | primary
    primary:  "(" or ")" | literal | ("int" | "double" | "string") "(" or ")" | "inputs.parameter_values['…']"

The compiler does not escape quotes: `x == "it's"` becomes `'it's'`, which a cluster rejects. A quote therefore ends a
string only if an operator, a bracket or the end follows; `Condition.notes` says where that was needed.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from .conditions import Call, Compare, Condition, ConditionError, Expression, Literal, Logic, Parameter


def parse(source: str) -> Condition:
    """Parses one condition.

    Raises:
        ConditionError: it does not follow the grammar above; the message says where.
    """
    parser = _Parser(source)
    try:
        tree = parser.whole()
    except RecursionError:
        raise ConditionError(f"condition {source[:60]!r}… is nested too deeply.") from None
    return Condition(source, tree, tuple(parser.notes))


_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<input>inputs\.parameter_values\[)"
    r"|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<symbol>==|!=|<=|>=|&&|\|\||[<>!()\]-])"
    r"|(?P<quote>['\"]))"
)
_AFTER_STRING = re.compile(r"\s*(?:$|[)\]]|==|!=|[<>]|&&|\|\|)")
_ESCAPE = re.compile(r"\\(?:([abfnrtv\\?\"'`])|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2}))")
_SIMPLE_ESCAPES = dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True))
_RELATIONS = ("==", "!=", "<=", ">=", "<", ">")
_NAMED: dict[str, bool | None] = {"true": True, "false": False, "null": None}


class _Parser:
    """A recursive descent parser of one condition, with one token of lookahead."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.at = 0
        self.notes: list[str] = []
        self.kind, self.token = "", ""
        self._advance()

    def whole(self) -> Expression:
        tree = self._logic("||")
        if self.kind != "end":
            raise self._error(f"unexpected {self.token!r}")
        return tree

    def _logic(self, symbol: str) -> Expression:
        below: Callable[[], Expression] = (lambda: self._logic("&&")) if symbol == "||" else self._relation
        tree = below()
        while self._take(symbol):
            tree = Logic(symbol, tree, below())
        return tree

    def _relation(self) -> Expression:
        tree = self._unary()
        while self.kind == "symbol" and self.token in _RELATIONS:
            symbol = self.token
            self._advance()
            tree = Compare(symbol, tree, self._unary())
        return tree

    def _unary(self) -> Expression:
        for symbol in ("!", "-"):
            if self._take(symbol):
                return Call(symbol, self._unary())
        return self._primary()

    def _primary(self) -> Expression:
        kind, token = self.kind, self.token
        self._advance()
        if kind == "string":
            return Literal(token)
        if kind == "number":
            return Literal(int(token) if token.isdigit() else float(token))
        if kind == "input":
            if self.kind != "string":
                raise self._error("expected the name of an input in quotes")
            name = self.token
            self._advance()
            self._expect("]")
            return Parameter(name)
        if kind == "name" and token in _NAMED:
            return Literal(_NAMED[token])
        if kind == "name" and token in ("int", "double", "string"):
            self._expect("(")
            return Call(token, self._closed())
        if (kind, token) == ("symbol", "("):
            return self._closed()
        raise self._error(f"unexpected {token!r}" if kind != "end" else "unexpected end")

    def _closed(self) -> Expression:
        tree = self._logic("||")
        self._expect(")")
        return tree

    def _take(self, symbol: str) -> bool:
        if (self.kind, self.token) != ("symbol", symbol):
            return False
        self._advance()
        return True

    def _expect(self, symbol: str) -> None:
        if not self._take(symbol):
            raise self._error(f"expected {symbol!r}")

    def _advance(self) -> None:
        if not self.source[self.at :].strip():
            self.kind, self.token = "end", ""
            return
        match = _TOKEN.match(self.source, self.at)
        if match is None or match.lastgroup is None:
            raise self._error("invalid syntax")
        self.at = match.end()
        self.kind, self.token = match.lastgroup, match[match.lastgroup]
        if self.kind == "quote":
            self.kind, self.token = "string", self._string(self.token)

    def _string(self, quote: str) -> str:
        characters: list[str] = []
        stray = False
        while self.at < len(self.source):
            here = self.source[self.at]
            if here == "\\":
                characters.append(self._escape())
                continue
            self.at += 1
            if here == quote:
                if _AFTER_STRING.match(self.source, self.at):
                    return self._checked("".join(characters), stray)
                stray = True
            characters.append(here)
        raise self._error("unterminated string")

    def _escape(self) -> str:
        match = _ESCAPE.match(self.source, self.at)
        if match is None:
            raise self._error(f"{self.source[self.at : self.at + 2]!r} is not a CEL escape sequence")
        self.at = match.end()
        simple, *codes, octal = match.groups()
        if simple is not None:
            return _SIMPLE_ESCAPES.get(simple, simple)
        code = int(octal, 8) if octal is not None else int(next(c for c in codes if c is not None), 16)
        if code > 0x10FFFF:
            raise self._error(f"{match[0]!r} is not a character")
        return chr(code)

    def _checked(self, value: str, stray: bool) -> str:
        if stray and "inputs.parameter_values[" in value:
            # The compiler turns `number == "3"` into this: the reference itself, as text.
            raise self._error("a string is compared with an input that is not a string; a cluster cannot evaluate that")
        if stray:
            self.notes.append(f"a cluster rejects the condition {self.source!r}: the quote in {value!r} is not escaped")
        return value

    def _error(self, problem: str) -> ConditionError:
        return ConditionError(f"condition {self.source!r}, at character {self.at}: {problem}.")
