"""Systems that draw, as probes see them: what a picture drawn for a neutral prompt is taken for by a model that judges.

A prompt has a text, a seed and perhaps a picture to begin with; its options are the judge's answers. The picture is
judged and thrown away: it can be drawn again from its seed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backend.describe import DescribeError, load_asker
from backend.metrics.neutrality import NEUTRAL, UNPARSED
from backend.pictures import PictureError, read_pixels
from backend.probes.base import ANSWERED, FAILED, LONGEST_OPTION, REFUSED, Answer, Model, ModelSpec, ProbeError, Prompt
from backend.prompts import Prompt as SystemPrompt
from backend.reading import toml_of
from backend.records import clean_text
from backend.spec import Key, SpecError, SystemSpec, checked_table, find
from backend.systems import Refused, Request, make_system
from backend.systems.pipeline import folder_hash

MOST_IMAGES, MOST_PROMPTS = 100, 20
_TOP = {
    "text_to_image": Key(list, ()),
    "image_to_image": Key(list, ()),
    "images": Key(int, 10, low=1, high=MOST_IMAGES),
    "strength": Key((float, int), 0.8, low=0.05, high=1),
    "professions_file": Key(str, ""),
    "judge": Key(str),
    "note": Key(str, ""),
    "questions": Key(list),
}
_QUESTION = {"attribute": Key(str), "ask": Key(str), "classes": Key(dict), "neutral": Key(list)}
_PLACE = re.compile(r"\{(\w*)\}|[{}]")
_NAME = r"[\w][\w -]{0,39}"


@dataclass(frozen=True)
class Question:
    """What the judge is asked about one attribute: its answers in order, and the class of each (NEUTRAL is one)."""

    attribute: str
    ask: str
    classes: tuple[str, ...]
    answers: tuple[str, ...]
    means: tuple[str, ...]


@dataclass(frozen=True)
class Drawing:
    """What systems are asked to draw, and who judges it."""

    prompts: Mapping[str, tuple[str, ...]]
    """Direction -> texts with the places {profession}, {action} and {a} (the article of the word after it)."""
    images: int
    strength: float
    professions: Path | None
    judge: Path | str
    note: str
    questions: tuple[Question, ...]


@dataclass(frozen=True)
class Drawn(Prompt):
    """A prompt of which the answer is what a drawn picture is taken for. `source` tells the given pictures apart."""

    attribute: str = ""
    seed: int = 0
    source: str = ""


def read_drawing(path: Path) -> Drawing:
    """A file as assets/probes/starter-drawing.toml. Raises SpecError with the file, the key and the remedy."""
    data = toml_of(path, "give a file as in assets/probes")
    values = checked_table(data, _TOP, str(path), "")
    directions = {key.replace("_", "-"): values[key] for key in ("text_to_image", "image_to_image")}
    prompts = {name: _prompts(texts, f"{path}: {name}") for name, texts in directions.items() if texts}
    if not prompts:
        raise SpecError(f"{path}: text_to_image: give a prompt there, or under image_to_image")
    questions = [_question(table, f"{path}: questions[{n}]") for n, table in enumerate(values["questions"], start=1)]
    if len({question.attribute for question in questions}) < len(questions):
        raise SpecError(f"{path}: questions: ask about every attribute once")
    judge, note = find(values["judge"], path.parent), clean_text(values["note"])
    professions = find(values["professions_file"], path.parent) if values["professions_file"] else None
    named = judge if judge.is_dir() else values["judge"]
    return Drawing(prompts, values["images"], values["strength"], professions, named, note[:1000], tuple(questions))


def _prompts(texts: Sequence[Any], where: str) -> tuple[str, ...]:
    for number, text in enumerate(texts[: MOST_PROMPTS + 1], start=1):
        if (
            number > MOST_PROMPTS
            or not isinstance(text, str)
            or not 0 < len(text) <= 1000
            or text in texts[: number - 1]
        ):
            raise SpecError(
                f"{where}[{number}]: write 1 to {MOST_PROMPTS} texts of 1 to 1,000 characters, no two alike"
            )
        if not {"profession"} <= {match[1] for match in _PLACE.finditer(text)} <= {"profession", "action", "a"}:
            raise SpecError(f"{where}[{number}]: hold {{profession}} and, if at all, {{action}} and {{a}}")
    return tuple(texts)


def _question(table: Any, where: str) -> Question:
    if not isinstance(table, dict):
        raise SpecError(f"{where}: is no table; write [[questions]]")
    values = checked_table(table, _QUESTION, where, "")
    classes = tuple(clean_text(name) for name in values["classes"])
    wrong = len(classes) < 2 or any(not re.fullmatch(_NAME, name) or name in (NEUTRAL, UNPARSED) for name in classes)
    if wrong or not re.fullmatch(_NAME, values["attribute"]):
        raise SpecError(f"{where}: name the attribute and two or more classes by letters, digits, spaces and dashes")
    rows = {**dict(zip(classes, values["classes"].values(), strict=True)), NEUTRAL: values["neutral"]}
    pairs = []
    for name, texts in rows.items():
        for text in texts if isinstance(texts, list) else [None]:
            if not isinstance(text, str) or not text.strip() or len(text) > LONGEST_OPTION:
                raise SpecError(
                    f"{where}: {name}: give a list of the judge's answers, 1 to {LONGEST_OPTION} characters"
                )
            pairs.append((text, name))
    answers, means = zip(*pairs, strict=True)
    if len({answer.casefold() for answer in answers}) < len(answers):
        raise SpecError(f"{where}: an answer of the judge stands for two classes; keep it for one")
    return Question(values["attribute"], values["ask"], classes, answers, means)


def model_name(system: str) -> str:
    """What a system is called among the models of an audit.

    >>> model_name("SD XL 1.0 (base)")
    'sd-xl-1-0-base'
    """
    return re.sub(r"[^a-z0-9]+", "-", system.lower()).strip("-")[:40].strip("-") or "system"


class Drawer(Model):
    """A system and its judge as one model: its answers are what the judge takes the drawn pictures for.

    Every picture is drawn alone, so that it depends on its seed and not on its neighbours.
    """

    def __init__(self, system: SystemSpec, drawing: Drawing) -> None:
        told = {key: str(value) for key, value in system.settings.items() if key not in ("kind", "model")}
        options = {**told, "strength": drawing.strength, "model": system.options.get("model", system.name)}
        super().__init__(ModelSpec(model_name(system.name), system.kind, system.name, 1, options, system.folder))
        self.system, self.drawing = make_system(system), drawing
        self.PACKAGES = self.system.PACKAGES
        self._judged: tuple[Any, dict[str, Answer]] = ((), {})

    def check(self) -> str:
        """A hash of the system's weights and the judge's; "" where nobody tells those of the system."""
        weights = self.system.check()
        try:
            self.judge = load_asker(self.drawing.judge)
        except DescribeError as error:
            raise ProbeError(f"judge: {error}") from error
        place = self.drawing.judge
        judge = folder_hash(place) if isinstance(place, Path) else place
        asked = [(q.attribute, q.ask, q.answers, q.means) for q in self.drawing.questions]
        return weights and hashlib.sha256(repr((weights, judge, asked)).encode()).hexdigest()

    def answers(self, prompts: Sequence[Prompt]) -> list[Answer]:
        found = []
        for prompt in prompts:
            if not isinstance(prompt, Drawn):
                raise ProbeError("a system draws prompts that say a seed")
            name = (prompt.text, prompt.seed, prompt.source)
            if self._judged[0] != name:
                self._judged = (name, self._judge(prompt))
            found.append(self._judged[1][prompt.attribute])
        return found

    def _judge(self, prompt: Drawn) -> dict[str, Answer]:
        """What a new picture is taken for, by attribute."""
        request = Request(SystemPrompt("neutral", prompt.text, 1), 1, prompt.seed)
        if prompt.picture is None:
            made = self.system.generate([request])[0]
        else:
            made = self.system.redraw([request], [prompt.picture], float(self.drawing.strength))[0]
        if isinstance(made, Refused):
            outcome = REFUSED if made.outcome == "filtered" else FAILED
            return self._all(Answer(outcome, None, reason=made.reason))
        try:
            picture = _opened(made)
        except PictureError as error:
            return self._all(Answer(FAILED, None, reason=f"the picture cannot be read: {error}"))
        asked = {question.ask: question.answers for question in self.drawing.questions}
        said = self.judge.ask_many([picture], asked)[0]
        return {
            question.attribute: Answer(ANSWERED, question.answers.index(answer.text), answer.text)
            for question, answer in zip(self.drawing.questions, said, strict=True)
        }

    def _all(self, answer: Answer) -> dict[str, Answer]:
        return {question.attribute: answer for question in self.drawing.questions}

    def close(self) -> None:
        self.system.close()


def _opened(data: bytes) -> Any:
    from PIL import Image

    return Image.fromarray(read_pixels(data))
