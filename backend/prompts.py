"""A spec's subsets -> prompts: every template with every combination of words, with the right article."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

from backend.records import AXES, LONGEST, UNSPECIFIED
from backend.spec import Spec, SpecError, SubsetSpec

_AS_LETTERS = frozenset("AEFHILMNORSX")
"""Letters whose names begin with a vowel sound: an HR manager, a CEO."""
_CONSONANT_SOUND = re.compile(r"eu|ewe|on(c?e\b|e-)|u(biq|ni(c|f|l|on|q|s|t|v)|ra[ln]|s(e|ua|ur|ag)|t(i|o|e))", re.I)
_VOWEL_SOUND = re.compile(r"[aeiou]|h(eir|onest|onor|onour|our)", re.I)


@dataclass(frozen=True)
class Prompt:
    """One text and what it asks for. Empty words and "unspecified" phrases are left out of the text."""

    subset: str
    text: str
    images: int
    profession: str = ""
    adjective: str = ""
    action: str = ""
    gender: str = UNSPECIFIED
    ethnicity: str = UNSPECIFIED
    tone: str = UNSPECIFIED


def article(word: str) -> str:
    """The indefinite article before a word, by its sound as well as spelling tells it.

    >>> [article(word) for word in ("honest", "unique", "underwriter", "IT", "CEO", "African-American", "European")]
    ['an', 'a', 'an', 'an', 'a', 'an', 'a']
    """
    first = re.match(r"[^\W\d_]*", word)[0]
    if first.isupper():  # said letter by letter
        return "an" if first[0] in _AS_LETTERS else "a"
    if word[:1].isdigit():
        return "an" if re.match(r"8|1[18](\D|$)", word) else "a"
    return "an" if _VOWEL_SOUND.match(word) and not _CONSONANT_SOUND.match(word) else "a"


def fill(template: str, **words: str) -> str:
    """A template with its places filled; an empty word goes, with the space beside it, and {a} is the article of the
    word that follows it.

    >>> fill("Photo portrait of {a} {adjective} {profession}", adjective="", profession="artist")
    'Photo portrait of an artist'
    """
    text = re.sub(r"\{(\w+)\}", lambda match: match[0] if match[1] == "a" else words[match[1]], template)
    text = re.sub(r" +([,.;:!?])", r"\1", re.sub(r"\s+", " ", text)).strip()
    parts = text.split("{a}")
    for index in range(len(parts) - 1, 0, -1):
        following = parts[index].lstrip()
        parts[index - 1] += article(following) + parts[index]
    return parts[0]


def subset_prompts(subset: SubsetSpec) -> Iterable[Prompt]:
    """The prompts of one subset, in the order of its templates and words."""
    places = list(subset.words)
    for template in subset.templates:
        used = [place for place in places if f"{{{place}}}" in template]
        for phrases in product(*(subset.words[place] for place in used)):
            words = dict(zip(used, phrases, strict=True))
            values = {place: phrase or (UNSPECIFIED if place in AXES else "") for place, phrase in words.items()}
            yield Prompt(subset.subset, fill(template, **words), subset.images, **values)


def prompts(spec: Spec) -> tuple[Prompt, ...]:
    """All prompts of a spec. Raises SpecError where two of a subset have the same text, or one is too long."""
    found: dict[tuple[str, str], Prompt] = {}
    for subset in spec.subsets:
        for prompt in subset_prompts(subset):
            if not prompt.text or len(prompt.text) > LONGEST["prompt"]:
                raise SpecError(f"{spec.path}: {subset.subset}.templates: a prompt has {len(prompt.text):,} characters")
            key = (prompt.subset, prompt.text)
            if key in found:
                raise SpecError(
                    f"{spec.path}: {subset.subset}: two prompts read {prompt.text!r}: their words differ only in what "
                    "the text leaves out; remove one"
                )
            found[key] = prompt
    return tuple(found.values())
