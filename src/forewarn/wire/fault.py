"""Fault rules as people write them: a flat object of a name, whom it strikes and how often, and its options.

REST, the command line, scenario files and tests all come through `parse_fault`, and read the same sentences.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import inf
from types import MappingProxyType

from forewarn.core.fault import FORMS, Fault, FaultRule, Option, Value
from forewarn.core.refusal import Code, Refusal
from forewarn.wire.choices import did_you_mean, either

_MOST_REQUESTS = 1_000_000
_LARGEST_SEED = 2**63 - 1

RATE = Option(float, None, "of all requests, or events, this part, chosen by the seed", 0.0001, 1)
COUNT = Option(int, None, "each guest's first so many", 1, _MOST_REQUESTS)
EVERY = Option(int, None, "each guest's every nth", 1, _MOST_REQUESTS)
SEED = Option(int, 0, "what a rate is drawn from: the same, and the same requests are struck", 0, _LARGEST_SEED)
VM = Option(str, None, "only this VM; without it all")

PACES = MappingProxyType({"rate": RATE, "count": COUNT, "every": EVERY})
COMMON = MappingProxyType({"vm": VM, **PACES, "seed": SEED})


def all_options() -> dict[str, tuple[type, str]]:
    """What may be said of a fault, of all and of some: its kind, and the words for whoever asks."""
    kinds: dict[str, type] = {}
    words: dict[str, dict[str, list[str]]] = {}
    for name, option in COMMON.items():
        kinds[name], words[name] = option.kind, {option.words: []}
    for fault, form in FORMS.items():
        for name, option in form.options.items():
            kinds.setdefault(name, option.kind)
            words.setdefault(name, {}).setdefault(describe(option), []).append(fault)
    return {
        name: (kind, "; ".join(f"{', '.join(of)}: {text}" if of else text for text, of in words[name].items()))
        for name, kind in kinds.items()
    }


def describe(option: Option) -> str:
    """An option in words, with what it can be and is."""
    can_be = [f"one or more of {', '.join(map(str, option.choices))}"] if option.kind is tuple else []
    if option.choices and not can_be:
        can_be = [either([str(each) for each in option.choices])]
    given = ",".join(option.default) if isinstance(option.default, tuple) else option.default
    is_set = [] if given is None or given is False else [f"default {given}"]
    added = "; ".join([*can_be, *is_set])
    return f"{option.words} ({added})" if added else option.words


class _Unfit(Exception):
    """A value that an option cannot have: what it is, and what it can be."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what)
        self.what = what
        self.remedy = remedy


def parse_fault(given: Mapping[str, object]) -> FaultRule | Refusal:
    """The rule that was written, or what is wrong with it; a member that is null counts as not given."""
    said = {name: value for name, value in given.items() if value is not None}
    name = said.pop("name", None)
    if name is None:
        return _bad("A fault needs a name.", f"It can be {either(list(Fault))}.")
    if not isinstance(name, str) or name not in set(Fault):
        question = did_you_mean(str(name), list(Fault))
        return _bad(f"There is no fault {name!r}. {question}".rstrip(), f"It can be {either(list(Fault))}.")
    fault = Fault(name)
    form = FORMS[fault]
    common = COMMON if form.takes_pace else {"vm": VM}
    known = {**common, **form.options}
    for each in said:
        if each not in known:
            return _unknown_option(fault, each, common)
    paces = [each for each in PACES if each in said]
    if len(paces) > 1:
        return _bad(f"{' and '.join(paces)} do not go together.", "Give one of them, or none to strike always.")
    try:
        values = {each: _read(each, option, said[each]) for each, option in known.items() if each in said}
    except _Unfit as problem:
        return _bad(f"{fault}: {problem.what}.", problem.remedy)
    options = {each: values.pop(each, option.default) for each, option in form.options.items()}
    return FaultRule(fault, **values, options=options)  # type: ignore[arg-type] # each was read as its option says


def _bad(message: str, hint: str) -> Refusal:
    return Refusal(Code.BAD_REQUEST, message, hint)


def _unknown_option(fault: Fault, name: str, common: Collection[str]) -> Refusal:
    own = FORMS[fault].options
    if name in PACES and name not in common:
        return _bad(
            f"{fault} takes no {name}: it is the first call of each guest.", "Leave it out, or use delay instead."
        )
    question = did_you_mean(name, [*own, *common])
    takes = f"It takes {either([*own, *common])}."
    return _bad(f"{fault} has no option {name!r}. {question}".rstrip(), takes)


def _read(name: str, option: Option, value: object) -> Value:
    """The value as the option's kind."""
    if option.kind is tuple:
        return _read_words(name, option, value)
    if option.kind is bool:
        if not isinstance(value, bool):
            raise _Unfit(f"{name} cannot be {value!r}", "It is true or false.")
        return value
    if option.kind is str:
        if not isinstance(value, str) or not value:
            raise _Unfit(f"{name} cannot be {value!r}", "It is a name.")
        read: Value = value
    else:
        read = _read_number(name, option, value)
    if option.choices and read not in option.choices:
        raise _Unfit(f"{name} cannot be {value!r}", f"It can be {either([str(each) for each in option.choices])}.")
    return read


def _read_number(name: str, option: Option, value: object) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < inf
    if not isinstance(value, int | float) or not is_number or (option.kind is int and value != int(value)):
        kind = "a number" if option.kind is float else "a whole number"
        raise _Unfit(f"{name} cannot be {value!r}", f"It is {kind}{_bounds(option)}.")
    if (option.least is not None and value < option.least) or (option.most is not None and value > option.most):
        raise _Unfit(f"{name} cannot be {value!r}", f"It is a number{_bounds(option)}.")
    number: float = option.kind(value)
    return number


def _bounds(option: Option) -> str:
    return "" if option.least is None or option.most is None else f" from {option.least} to {option.most}"


def _read_words(name: str, option: Option, value: object) -> tuple[str, ...]:
    """Some words, as a list or with commas between them."""
    words = value.split(",") if isinstance(value, str) else value
    if not isinstance(words, list | tuple) or not words:
        raise _Unfit(
            f"{name} cannot be {value!r}", f"They are some of {either([str(each) for each in option.choices])}."
        )
    read = [str(each).strip() for each in words]
    for each in read:
        if each not in option.choices:
            choices = [str(choice) for choice in option.choices]
            question = did_you_mean(each, choices)
            raise _Unfit(f"{name} cannot have {each!r}", f"{question} They are {either(choices)}.".lstrip())
    return tuple(dict.fromkeys(read))
