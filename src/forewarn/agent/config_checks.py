"""What one part of a configuration says about another: names without a thing, circles, rules that never match."""

from __future__ import annotations

import stat
from collections.abc import Mapping, Sequence
from dataclasses import replace

from forewarn.agent.config_reading import Reading
from forewarn.agent.config_values import closest
from forewarn.agent.events import KNOWN_TYPES
from forewarn.agent.notices import LEAST_NOTICE_SECONDS
from forewarn.agent.policy import LOG_ONLY, Approval, Occasion, Profile, Rule, Step, Together
from forewarn.agent.rule_order import covers
from forewarn.agent.settings import Settings
from forewarn.agent.toml_places import Path as TomlPath

_SOURCES = ("Platform", "User")


def check_rules(reading: Reading, rules: Sequence[Rule], profiles: Mapping[str, Profile]) -> None:
    """Rules that lead nowhere, contradict themselves, or come too late."""
    for index, rule in enumerate(rules):
        path = reading.rule_paths[index]
        if rule.profile not in profiles and rule.profile != LOG_ONLY.name:
            close = closest(rule.profile, [*profiles, LOG_ONLY.name])
            known = ", ".join([*profiles, f'"{LOG_ONLY.name}", which does nothing'])
            advice = f"Did you mean {close}?" if close else f"There are {known}."
            reading.refuse((*path, "profile"), f"There is no profile {rule.profile}.", advice)
        else:
            _check_notice(reading, rules, index, profiles.get(rule.profile, LOG_ONLY))
        _check_bounds(reading, path, rule)
        _check_words(reading, (*path, "types"), rule.types, KNOWN_TYPES)
        _check_words(reading, (*path, "sources"), rule.sources, _SOURCES)
        earlier = next((each for each in rules[:index] if covers(each, rule)), None)
        if earlier is not None:
            reading.warn(
                path,
                f"Rule {_called(rule, index)} never matches: the one in line {earlier.line} takes all it would.",
                "Put the narrower rule first, or take this one out.",
            )
    used = {rule.profile for rule in rules}
    for name in profiles:
        if name not in used:
            reading.warn(
                ("profiles", name), f"No rule leads to profile {name}.", "Add one, or take the profile out."
            )


def check_profile(reading: Reading, profile: Profile, *, has_peers: bool) -> None:
    """Steps that wait for what does not come, and an approval that nobody could give."""
    path: TomlPath = ("profiles", profile.name)
    if profile.together is Together.LEADER and not has_peers:
        reading.refuse(
            (*path, "together"),
            f"Profile {profile.name} approves together with others, and there are no [peers] to hear from.",
            'Add [peers], or say together = "each" or "refuse".',
        )
    for step in profile.steps:
        _check_needs(reading, reading.step_paths[profile.name, step.name], profile, step)
    for circle in _circles(profile):
        names = " needs ".join([*circle, circle[0]])
        place = reading.step_paths[profile.name, circle[0]]
        reading.refuse((*place, "needs"), f"Steps wait for each other: {names}.", "Take one of the needs out.")
    _check_time(reading, path, profile)
    _check_approval(reading, path, profile)


def check_listeners(reading: Reading, settings: Settings) -> None:
    """Two listeners cannot have one address."""
    if settings.peers and settings.listen and settings.peers.listen == settings.listen and settings.listen[1]:
        host, port = settings.listen
        reading.refuse(
            ("peers", "listen"),
            f"{host}:{port} is already where the agent listens.",
            "Take another port.",
        )


def check_audit_file(reading: Reading, settings: Settings) -> None:
    """A record goes into a file: into what is none, or cannot become one, it would not go."""
    file = settings.audit_file
    if file is None:
        return
    place, own = file.absolute().parent, settings.state_dir.absolute()
    try:
        mode = file.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        if not place.is_dir() and place not in {own, *own.parents}:  # which the agent makes
            reading.refuse_setting(
                "audit_file",
                f"audit_file is {file}, and there is no directory {place}.",
                "Make the directory, or name a file in another.",
            )
    except OSError:  # who may not look cannot tell; the agent may be somebody else
        return
    else:
        if not stat.S_ISREG(mode):
            kind = "a directory" if stat.S_ISDIR(mode) else "a pipe, a device or the like"
            advice = "Name a file; it is made when there is something to write."
            reading.refuse_setting("audit_file", f"audit_file is {file}, which is {kind}, and no file.", advice)


def _called(rule: Rule, index: int) -> str:
    return rule.name or str(index + 1)


def _check_bounds(reading: Reading, path: TomlPath, rule: Rule) -> None:
    pairs = (
        ("duration_seconds", rule.min_duration_seconds, rule.max_duration_seconds),
        ("resources", rule.min_resources, rule.max_resources),
    )
    for name, least, most in pairs:
        if least is not None and most is not None and least > most:
            reading.refuse(
                (*path, f"min_{name}"),
                f"min_{name} is {least} and max_{name} is {most}, so that no event fits.",
                "Exchange them, or take one out.",
            )


def _check_words(reading: Reading, path: TomlPath, words: Sequence[str], known: Sequence[str]) -> None:
    """A word that is not known today may be one of tomorrow: it is doubted, not refused."""
    for index, word in enumerate(words):
        if word.lower() not in {each.lower() for each in known}:
            close = closest(word, known)
            advice = f"Did you mean {close}?" if close else f"Known today: {', '.join(known)}."
            reading.warn((*path, index), f"{path[-1]}: {word} is not known.", advice)


def _check_needs(reading: Reading, path: TomlPath, profile: Profile, step: Step) -> None:
    others = [each.name for each in profile.steps if each.name != step.name]
    for index, name in enumerate(step.needs):
        place = (*path, "needs", index)
        needed = profile.step(name)
        if needed is None:
            close = closest(name, others)
            advice = f"Did you mean {close}?" if close else f"There are {', '.join(others) or 'no others'}."
            reading.refuse(place, f"Step {step.name} needs {name}, and there is no such step.", advice)
        elif needed is step:
            reading.refuse(place, f"Step {step.name} needs itself.", "Take that out.")
        elif needed.on is not step.on:
            reading.refuse(
                place,
                f"Step {step.name} is on {step.on}, and {name}, which it needs, on {needed.on}.",
                "Needs are among steps of one occasion; take it out.",
            )
        elif needed.group > step.group:
            reading.refuse(
                place,
                f"Step {step.name} is in group {step.group}, and {name}, which it needs, in group {needed.group}.",
                f"Put {name} into group {step.group} or an earlier one.",
            )


def _circles(profile: Profile) -> list[list[str]]:
    """Steps that need each other, each circle once; a step that needs itself is told elsewhere."""
    found: list[list[str]] = []
    settled: set[str] = set()

    def follow(name: str, trail: list[str]) -> None:
        step = profile.step(name)
        if step is None or name in settled:
            return
        for needed in step.needs:
            if needed in trail:
                circle = trail[trail.index(needed) :]
                if len(circle) > 1:
                    found.append(circle)
            else:
                follow(needed, [*trail, needed])
        settled.add(name)

    for step in profile.steps:
        follow(step.name, [step.name])
    return found


def _check_time(reading: Reading, path: TomlPath, profile: Profile) -> None:
    """Whether the steps can use all their time before the event begins."""
    if profile.lead_seconds is None:
        return
    longest = _longest_seconds(profile)
    room = profile.lead_seconds - profile.reserve_seconds
    if longest > room:
        reading.warn(
            (*path, "lead_seconds"),
            f"The steps of profile {profile.name} may take {longest:g} s; {max(room, 0):g} s are left for them.",
            "Make lead_seconds longer, or the timeouts of the steps shorter.",
        )


def _longest_seconds(profile: Profile) -> float:
    """How long its preparation takes if every step uses all its time."""
    steps = profile.on(Occasion.PREPARE)
    groups = {step.group for step in steps}
    return sum(max(step.timeout_seconds for step in steps if step.group == group) for group in groups)


def _check_notice(reading: Reading, rules: Sequence[Rule], index: int, profile: Profile) -> None:
    """Warn if the notice of an event that leads to the profile is too short for its steps."""
    if not profile.on(Occasion.PREPARE):
        return
    rule, path = rules[index], ("profiles", profile.name)
    said = {each.lower() for each in rule.types}
    types = [
        each
        for each in KNOWN_TYPES
        if (not said or each.lower() in said)
        and not any(covers(earlier, replace(rule, types=(each,))) for earlier in rules[:index])
    ]
    rooms = {each: LEAST_NOTICE_SECONDS[each] - profile.reserve_seconds for each in types}
    if nothing := [each for each in types if rooms[each] <= 0]:
        reading.warn(
            (*path, "reserve_seconds"),
            f"No step of profile {profile.name} can run for {' or '.join(nothing)}: Azure announces it as late as "
            f"{_seconds_each(nothing)} before, and reserve_seconds is {profile.reserve_seconds:g}.",
            f"Make reserve_seconds shorter, or give {' and '.join(nothing)} a rule and a profile of their own.",
        )
    longest = _longest_seconds(profile)
    tight = [each for each in types if 0 < rooms[each] < longest]
    # A rule that names no types is for all of them; the steps are then made for those that leave them their time.
    if tight and (said or len(tight) == len(types)):
        room = min(rooms[each] for each in tight)
        reading.warn(
            reading.rule_paths[index],
            f"The steps of profile {profile.name} may take {longest:g} s; {' or '.join(tight)} may leave them "
            f"{room:g} s.",
            "Make the timeouts of the steps shorter, or lead to another profile.",
        )


def _seconds_each(types: Sequence[str]) -> str:
    return " or ".join(f"{LEAST_NOTICE_SECONDS[each]} s" for each in types)


def _check_approval(reading: Reading, path: TomlPath, profile: Profile) -> None:
    """Warn if the profile approves after the success of steps that it does not have."""
    waits_for = (*profile.on(Occasion.DETECTED), *profile.on(Occasion.PREPARE))
    if profile.approval not in {Approval.NEVER, Approval.MANUAL} and not waits_for:
        reading.warn(
            (*path, "approval"),
            f"Profile {profile.name} has no steps to prepare with, so that its events are approved unprepared.",
            'Add steps, or say approval = "never".',
        )
