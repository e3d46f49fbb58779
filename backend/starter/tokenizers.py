"""The tokenizers, built from the words that training uses: CLIP's byte pairs for prompts, word pieces for answers."""

from __future__ import annotations

from pathlib import Path

from backend.starter.words import TONES

MAX_TOKENS = 32
START = "[DEC]"


def clip_tokenizer(words: list[str], folder: Path):
    """A CLIPTokenizer in which every known word is one token; other words fall into letters. Saved in `folder`."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    from transformers import CLIPTokenizer

    made = Tokenizer(models.BPE(end_of_word_suffix="</w>"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    letters = [chr(code) for code in range(33, 127) if not chr(code).isupper()]
    trainer = trainers.BpeTrainer(
        vocab_size=5000, min_frequency=1, end_of_word_suffix="</w>", initial_alphabet=letters, show_progress=False
    )
    made.train_from_iterator([*words, *letters], trainer)
    folder.mkdir(parents=True, exist_ok=True)
    made.model.save(str(folder))
    merges = [
        tuple(line.split())
        for line in (folder / "merges.txt").read_text().splitlines()
        if line and not line.startswith("#version")
    ]
    tokens = [*letters, *(letter + "</w>" for letter in letters)]
    tokens += ["".join(pair) for pair in merges]
    vocabulary = {token: place for place, token in enumerate(dict.fromkeys(tokens))}
    for special in ("<|startoftext|>", "<|endoftext|>"):
        vocabulary[special] = len(vocabulary)
    for name in ("vocab.json", "merges.txt"):
        (folder / name).unlink()
    return CLIPTokenizer(vocab=vocabulary, merges=merges, model_max_length=MAX_TOKENS)


def word_tokenizer(words: list[str]):
    """A BertTokenizer of whole words: specials, then a start token for answers, then the words."""
    from transformers import BertTokenizer

    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", START]
    marks = list("?.,:-'")
    vocabulary = {token: place for place, token in enumerate(dict.fromkeys([*specials, *marks, *sorted(words)]))}
    made = BertTokenizer(vocab=vocabulary, do_lower_case=True, model_max_length=64, bos_token=START)
    made.add_tokens([tone for tone in TONES if "-" in tone])
    return made
