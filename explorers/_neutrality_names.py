"""What stood for each class in casting questions. An audit keeps a hash of the words, not the words: those of the files
in assets/probes are shown where they have that hash, and where they do not, nothing is said of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from backend.metrics.neutrality import NEUTRAL
from backend.probe_plan import wording
from backend.probes.prompts import OPTIONS, Options, read_options, read_styles
from backend.probes.vision import UNKNOWN as WORDS_UNKNOWN
from backend.spec import SpecError
from backend.store import Audit
from explorers import _neutrality_view as state
from explorers._neutrality_view import Asked, NeutralityView
from explorers._shared import escape

Known = Mapping[tuple[str, str], Options]
UNKNOWN = (
    "What was offered for each class is not known here: the audit keeps a hash of the words alone, and it is none of "
    "the files in assets/probes."
)


def _read(reader, pattern: str) -> list:
    """What the files of assets/probes with such names hold; one that cannot be read tells nothing of any audit."""
    found = []
    for path in sorted(OPTIONS.parent.glob(pattern)):
        try:
            found.append(reader(path))
        except SpecError:
            continue
    return found


@lru_cache(maxsize=1)
def _known() -> Known:
    """The casting options of the files, by direction/style/attribute/culture and the hash that an audit would hold."""
    every = _read(lambda path: read_options((path,)), "*options.toml")
    return {
        (f"{style.name}/{one.attribute}/{one.culture}", wording(style, one, letters)): one
        for styles in _read(read_styles, "*styles.toml")
        for options in every
        for style in styles
        for one in options
        for letters in (False, True)
        if style.probe == one.probe == "indirect"
    }


def casting(asked: Asked) -> bool:
    """Whether named actors (or words) were offered instead of the classes."""
    return asked.style.endswith("-indirect")


def offered(audit: Audit, asked: Asked) -> dict[str, str]:
    """The text that a casting question showed for each class and for "no preference"; {} where it is not known."""
    source = audit.probes.sources[asked.model]
    name = f"{asked.direction}/{asked.style}/{asked.attribute}/{asked.culture}"
    one = _known().get((name, (source.wordings or {}).get(name, "")))
    if one is None or one.classes != source.classes[asked.attribute]:
        return {}
    return dict(zip((*one.classes, NEUTRAL), (row[0] for row in one.texts), strict=True))


def offered_words(held: Mapping[str, str]) -> str:
    """What stood for each class, in words.

    >>> offered_words({"male": "Brad Pitt", "female": "Angelina Jolie", "no preference": "no preference"})
    'male: “Brad Pitt”, female: “Angelina Jolie”'
    """
    return ", ".join(f"{name}: “{text}”" for name, text in held.items() if name != NEUTRAL)


def panel_html(audit: Audit, asked: Asked) -> str:
    """Above the answers of a cell: what was offered for each class in a casting question, and whether the model met
    words that it does not know; "" where there is nothing to say."""
    said = []
    if casting(asked):
        held = offered(audit, asked)
        said.append(f"Offered for the classes: {offered_words(held)}." if held else UNKNOWN)
    if WORDS_UNKNOWN in audit.probes.sources[asked.model].note:
        said.append(f"{WORDS_UNKNOWN} Which ones is not stored: an answer here may rest on the few that it knows.")
    return "".join(f'<p class="lk-reading lk-offered">{escape(one)}</p>' for one in said)


def how_html(audit: Audit, view: NeutralityView) -> str:
    """One sentence: what stands for which class in the casting questions about a view's attribute; "" without any."""
    about = (view.direction, view.attribute)
    asked = [one for one in state.asked_of(audit) if (one.direction, one.attribute) == about and casting(one)]
    sets = dict.fromkeys((one.culture, offered_words(offered(audit, one))) for one in asked)
    named = [f"{culture} ({said})" if culture else said for culture, said in sets if said]
    if not sets:
        return ""
    said = f"Casting questions about {view.attribute} offered {'; '.join(named)}." if named else UNKNOWN
    return f'<p class="lk-cast">{escape(said)}</p>'
