"""Questions about a table, one a screen, from which a first schema is made.

They are asked on stderr and answered on stdin, by a person or through a pipe. An empty line takes what is proposed.
"""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NoReturn, TextIO

import typer

from tclose.cli.options import say
from tclose.table.proposing.column_evidence import order_of
from tclose.table.proposing.guesses import ColumnGuess
from tclose.table.proposing.name_groups import group_names
from tclose.table.proposing.proposal_text import comment
from tclose.table.proposing.table_proposal import RoleChoices, TableProposal

ROLES = {
    "quasi": "others may know it: it is made coarser (quasi-identifier)",
    "sensitive": "nobody may learn it about a person (sensitive)",
    "identifier": "leave it out, it is never released (identifier)",
    "keep": "release it as it is (keep)",
    "unit": "it says whose row this is; it is never released (unit)",
}
YES_OR_NO = {"y": "yes", "n": "no"}
ALWAYS = "Enter takes what is marked with >. b goes back, ? explains, q ends without writing anything."


@dataclass(frozen=True)
class Question:
    """One screen.

    Attributes
    ----------
    key
        Under which its answer is kept.
    title, lines
        What is asked, and what there is to know.
    options
        What can be answered and what it means; empty if it is a whole number from 1 up.
    default
        What an empty line means; empty if it means nothing, as where nothing can be guessed.
    explanation
        For whoever asks with `?`.
    """

    key: str
    title: str
    lines: tuple[str, ...]
    options: Mapping[str, str]
    default: str
    explanation: str

    def understand(self, answer: str) -> str | None:
        """What an answer means; None if it is not understood."""
        if not answer:
            return self.default or None
        if not self.options:
            return answer if answer.isascii() and answer.isdigit() and int(answer) > 0 else None
        numbered = dict(zip(map(str, range(1, len(self.options) + 1)), self.options, strict=True))
        if answer in numbered:
            return numbered[answer]
        found = [option for option in self.options if option.startswith(answer.lower())]
        return found[0] if len(found) == 1 else None


@dataclass(eq=False)
class Interview:
    """All questions about a table.

    Attributes
    ----------
    proposal
        The guesses, which are what is proposed.
    given
        The roles that are settled already.
    k
        If that is settled already.
    offers_files
        Whether hierarchies could be written.
    stream
        Where answers come from.
    """

    proposal: TableProposal
    given: Mapping[str, str]
    k: int | None = None
    offers_files: bool = False
    stream: TextIO = field(default_factory=lambda: sys.stdin)
    answers: dict[str, str] = field(default_factory=dict)

    def run(self) -> tuple[RoleChoices, bool]:
        """Ask until all is answered: what was chosen, and whether hierarchies are to be written.

        Raises
        ------
        typer.Exit
            Someone ended it.
        typer.BadParameter
            The answers ended before the questions.
        """
        while (question := self._next()) is not None:
            if question.key in ("k", "write") or question.key.startswith("role"):
                say("")
            self._ask(question)
        if self.answers["write"] == "n":
            _end()
        return self._choices(), self.answers.get("hierarchies") == "y"

    def _ask(self, question: Question) -> None:
        _show(question)
        while True:
            print("? ", end="", file=sys.stderr, flush=True)
            _await_line(self.stream)
            line = self.stream.readline()
            if not line:
                raise typer.BadParameter("the answers ended before the questions did, and nothing was written.")
            answer = line.strip()
            if answer in ("q", "quit"):
                _end()
            if answer in ("b", "back"):
                return self._back()
            if answer in ("?", "help"):
                say(question.explanation)
                continue
            understood = question.understand(answer)
            if understood is not None:
                self.answers[question.key] = understood
                return None
            say(f"That is none of the answers. {_allowed(question)}")

    def _back(self) -> None:
        if not self.answers:
            say("This is the first question.")
            return
        self.answers.popitem()  # the last one given

    def _next(self) -> Question | None:
        return next((question for question in self._questions() if question.key not in self.answers), None)

    @cached_property
    def _groups(self) -> list[tuple[str, list[str]]]:
        guesses = self.proposal.guesses
        settings = {
            name: f"{g.role} {g.is_ordered} {g.evidence.formats}"
            for name, g in guesses.items()
            if name not in self.given
        }
        return group_names(settings, list(guesses))

    def _questions(self) -> Iterator[Question]:
        """All questions in their order, as far as what was answered says which there are."""
        if self.k is None:
            yield LEAST
        groups = self._groups
        for place, (label, names) in enumerate(groups, 1):
            guess = self.proposal.guesses[names[0]]
            yield _about_role(label, names, guess, f"{place} of {len(groups)}")
            role = self.answers.get(f"role {label}")
            if role == "sensitive" and guess.evidence.form == "whole" and guess.evidence.n_distinct > 2:
                yield _about_order(label, guess)
            if role in ("quasi", "sensitive") and len(guess.evidence.formats) > 1:
                yield _about_format(label, guess)
        units = [self.proposal.guesses[name].evidence for name, role in self._roles().items() if role == "unit"]
        if any(each.n_distinct < each.n_filled for each in units):
            yield UNIT_ROWS
        for spelling in self.proposal.spellings.doubtful:
            yield _about_spelling(spelling)
        doubtful = any(self.answers.get(f"spelling {each}") == "y" for each in self.proposal.spellings.doubtful)
        if doubtful or self.proposal.spellings.n_columns:
            yield MISSING
        if self.offers_files:
            yield HIERARCHIES
        yield self._last()

    def _last(self) -> Question:
        roles = list(self._roles().values())
        lines = (
            f"{roles.count('quasi')} quasi-identifiers, {roles.count('sensitive')} sensitive, {roles.count('keep')} as "
            f"they are, {roles.count('identifier') + roles.count('unit')} left out.",
        )
        if "quasi" not in roles:
            title = "No column is one that others may know, and a schema needs one. Go back, and say which."
            return Question(
                "write", title, lines, {"n": "end without writing"}, "", "b goes back to the last question."
            )
        return Question("write", "That is all. Write the schema?", lines, YES_OR_NO, "y", "n ends without writing.")

    def _roles(self) -> dict[str, str]:
        chosen = {name: self.answers.get(f"role {label}", "open") for label, names in self._groups for name in names}
        return {name: self.given.get(name, chosen.get(name, "open")) for name in self.proposal.guesses}

    def _choices(self) -> RoleChoices:
        ordered = {
            name: self.answers[f"order {label}"] == "y"
            for label, names in self._groups
            for name in names
            if f"order {label}" in self.answers
        }
        formats = {
            name: self.answers[f"format {label}"]
            for label, names in self._groups
            for name in names
            if f"format {label}" in self.answers
        }
        found = self.proposal.spellings
        spelled = [each for each in found.doubtful if self.answers.get(f"spelling {each}") == "y"]
        return RoleChoices(
            self._roles(),
            self.k if self.k is not None else int(self.answers["k"]),
            ordered,
            self.answers.get("missing"),
            (*found.sure, *spelled),
            formats=formats,
            unit_rows=self.answers.get("unit rows"),
        )


LEAST = Question(
    "k",
    "How many rows shall be alike at least?",
    ("In the release at least that many rows are the same in all that someone may know.",),
    {},
    "5",
    "This is k. Someone who looks for a person finds k rows and cannot tell which is theirs. 5 is common; statistics "
    "offices and hospitals often ask for 10 or more. Give a whole number.",
)
UNIT_ROWS = Question(
    "unit rows",
    "What becomes of persons with several rows?",
    ("Rows are not persons here, so that rows which look alike could all be one person's.",),
    {
        "one": "one row of each is kept, by chance",
        "all": "all rows are kept, and every group has rows of enough persons",
    },
    "one",
    "With `one` everything that is promised holds for persons. With `all` no row is lost, but groups are larger, and "
    "only some methods can do it.",
)
MISSING = Question(
    "missing",
    "What is a missing value?",
    ("Some cells are empty, or say that nothing is known.",),
    {"category": "a value like any other", "drop": "its row is left out", "error": "there must be none"},
    "category",
    "With `category` no row is lost: rows without a value are grouped with one another, or the cell becomes *.",
)
HIERARCHIES = Question(
    "hierarchies",
    "Write files in which you can say which values belong together?",
    ("They hold the values of the columns, so treat them like the table.",),
    YES_OR_NO,
    "n",
    "A line a value: value;group;*. Where a class mixes values, the release says the group. Rare values are put "
    "together at first; change the groups as you like. Without a file a mixed class says * only.",
)


def _about_role(label: str, names: list[str], guess: ColumnGuess, place: str) -> Question:
    many = f" ({len(names):,} columns)" if len(names) > 1 else ""
    laws = "; ".join(guess.laws)
    lines = [guess.evidence.about + ("." if not many else " in the first.")]
    lines.append(f"{guess.reason[0].upper()}{guess.reason[1:]}{f' ({laws})' if laws else ''}.")
    return Question(
        f"role {label}",
        f"Column {comment(label)}{many}: what is it? [{place}]",
        tuple(lines),
        {role: words for role, words in ROLES.items() if role != "unit" or len(names) == 1},
        guess.role if guess.role in ROLES else "identifier",
        "Could a neighbour, colleague or another table know it about someone, as age or address? Then it is a "
        "quasi-identifier. Would it harm someone if it became known, as a diagnosis or a salary? Then it is sensitive. "
        "Does the release not need it? Leave it out: that is always safe.",
    )


def _about_order(label: str, guess: ColumnGuess) -> Question:
    return Question(
        f"order {label}",
        f"Column {comment(label)}: do larger numbers mean more of something?",
        ("As for a count, an amount or a grade, and not for codes such as 1 = single, 2 = married.",),
        YES_OR_NO,
        "y" if guess.is_ordered else "n",
        "With an order, numbers that are near count as alike. For codes that would protect less than it seems.",
    )


def _about_format(label: str, guess: ColumnGuess) -> Question:
    first = {"d": "the day comes first", "m": "the month comes first", "y": "the year comes first"}
    return Question(
        f"format {label}",
        f"Column {comment(label)}: how are its dates written?",
        ("All of its values are dates either way, and no other column says which it is.",),
        {form: first[order_of(form)] for form in guess.evidence.formats},
        "",
        "%d is the day, %m the month, %Y the year. Read the wrong way, a release would be about other days.",
    )


def _about_spelling(spelling: str) -> Question:
    return Question(
        f"spelling {spelling}",
        f"Does {comment(spelling)} mean that a value is missing, wherever it stands?",
        (),
        YES_OR_NO,
        "n",
        "If yes, such cells are empty in the release. If it is an answer of its own, say no.",
    )


def _await_line(stream: TextIO) -> None:
    """Wait for a line of a terminal, and come back now and then, so that Ctrl-C counts whichever thread gets it."""
    if os.name != "posix" or not stream.isatty():
        return
    while not select.select([stream], [], [], 0.2)[0]:
        pass


def _end() -> NoReturn:
    say("Nothing was written.")
    raise typer.Exit(1)


def _show(question: Question) -> None:
    say(question.title)
    for line in question.lines:
        say(f"  {line}")
    for place, (option, words) in enumerate(question.options.items(), 1):
        mark = ">" if option == question.default else " "
        say(f"{mark} {option}  {words}" if question.options is YES_OR_NO else f"{mark} {place} {option}: {words}")
    if not question.options:
        say(f"> {question.default}")
    say(ALWAYS if question.default else ALWAYS.partition(". ")[2])


def _allowed(question: Question) -> str:
    if not question.options:
        return "Give a whole number from 1 up."
    return f"Give {', '.join(question.options)}, b, ? or q."
