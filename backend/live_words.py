"""What visitors of the tab Live, and its log, read of models and servers: nothing of how the host reaches them."""

from __future__ import annotations

import os
import re
from typing import Any
from urllib.parse import urlsplit

from backend.spec import ROOT

REMOTE = ("openai-chat", "openai-images", "hf-inference")
"""Kinds of models and systems that are asked over the network."""
_ADDRESS = re.compile(r"\b\w+://\S+")
_PATH = re.compile(r"(?<![\w/])(?:~|\.{0,2}/)(?:[\w.@%+-]+/)*[\w.@%+-]+")
_HOST_PATH = re.compile(r"(?<![\w/])/(?:home|root|usr|etc|var|opt|srv|tmp|mnt|data|run|Users)/[\w.@%+/-]+")
_STATUS = re.compile(r"(?:no \w+ after [\d,]+ requests?; the last one: )?HTTP (\d{3}):")


def plain(text: str, spec: Any) -> str:
    """A text for the log without the key, address, host and paths of a model or system, nor any other address or path.

    >>> from backend.spec import SystemSpec
    >>> options = {"base_url": "https://in.example:8000/v1", "key_env": ""}
    >>> spec = SystemSpec("a", "openai-chat", options, {}, ROOT)
    >>> plain("in.example:8000 (in.example): see /home/me/x and https://in.example/v1/models", spec)
    '*** (***): see *** and ***'
    """
    return _PATH.sub("***", _without(_ADDRESS.sub("***", text), spec, every_host=True))


def answered(text: str, spec: Any) -> str:
    """A model's answer without the key, address, host and folders of its spec, should it repeat them: nothing else.

    A host of one word that stands alone is left: it may be any word. Folders are also those that hosts usually have.
    """
    return _HOST_PATH.sub("***", _without(text, spec, every_host=False))


def _without(text: str, spec: Any, every_host: bool) -> str:
    options = spec.options
    model = str(options.get("model", ""))
    folders = [spec.folder, *getattr(spec, "files", {}).values(), ROOT]
    hidden = [str(folder) for folder in folders if folder.is_absolute() and len(folder.parts) > 1]
    hidden += [os.environ.get(str(options.get("key_env") or ""), "").strip()]
    hidden += [model] if spec.kind not in REMOTE and "/" in model and model.count("/") != 1 else []
    addresses = [address for address in (str(options.get("base_url", "")), model) if "://" in address]
    for secret in sorted(filter(None, (*hidden, *addresses)), key=len, reverse=True):
        text = text.replace(secret, "***")
    for address in addresses:
        for name in _hosts(address):  # with its port first
            alone = every_host or "." in name or ":" in name
            before = r"(?<![\w.-])" if alone else "(?<=//)"
            text = re.sub(rf"{before}{re.escape(name)}(?![\w-])", "***", text, flags=re.I)
    return text


def _hosts(address: str) -> list[str]:
    try:
        parts = urlsplit(address)
        return [name for name in dict.fromkeys((parts.netloc, parts.hostname)) if name]
    except ValueError:
        return []


def canned(reason: str, filtered: bool) -> str:
    """Why a server gave nothing, for a visitor: its HTTP status, where there is one, and what became of the request.

    >>> canned("no answer after 3 requests; the last one: HTTP 502: upstream 10.1.2.3 refused", False)
    "HTTP 502: the request failed; the server's log says more"
    >>> canned("", False)
    ''
    """
    if not reason:
        return ""
    status = _STATUS.match(reason)
    words = "the endpoint's safety rules refused the request" if filtered else "the request failed"
    return f"{f'HTTP {status[1]}: ' if status else ''}{words}; the server's log says more"


def public(said: str, title: str, kind: str) -> str:
    """Why a model or system cannot be used, for a visitor: which part failed, and nothing of how it is reached."""
    if kind in REMOTE:
        part = "refused the host's key" if "key_env:" in said else "cannot be reached, or answers with errors only"
        return f"{title} {part}: try another model, or later; the server's log says more."
    if " needs the package gguf" in said:
        return f"{title} has to be converted once: say pip install gguf==0.19.0, then start again."
    return f"{title} cannot be loaded on this machine: choose another model; the server's log says why."
