"""Kind "hf-inference": a model behind the Hub's inference providers, or an inference endpoint of one's own."""

from __future__ import annotations

import io
from typing import Any, ClassVar

from PIL import Image

from backend.spec import Key
from backend.systems.base import Answer, Refused, Request, checked
from backend.systems.web import WEB_KEYS, TryAgainError, WebSystem


class Inference(WebSystem):
    """One call of InferenceClient.text_to_image an image. `model` is a Hub id or an endpoint's address."""

    KEYS: ClassVar = {
        "model": Key(str),
        "provider": Key(str, "auto"),
        "negative_prompt": Key(str, ""),
        **WEB_KEYS,
        "key_env": Key(str, "HF_TOKEN", settings=False),
    }

    def __init__(self, spec) -> None:
        super().__init__(spec)
        self._client: Any = None

    def check(self) -> str:
        """Ask the Hub for the model; an endpoint of one's own is asked for its first image only."""
        from huggingface_hub import HfApi, errors
        from huggingface_hub.utils import httpx

        self.key()
        model = self.options["model"]
        if model.startswith(("http://", "https://")):
            return ""
        try:
            return HfApi(token=self.key() or None).model_info(model, timeout=30).sha or ""
        except (errors.HfHubHTTPError, httpx.HTTPError, OSError, ValueError) as error:
            raise self.error(
                "model",
                f"{model[:200]!r} cannot be had from the Hub: check its name, the network and the key, and unset "
                f"HF_HUB_OFFLINE ({self.plain(f'{type(error).__name__}: {error}')})",
            ) from None

    def _http(self) -> Any:
        from huggingface_hub import InferenceClient

        if self._client is None:
            options = self.options
            settings = {"provider": options["provider"], "timeout": options["timeout"]}
            headers = {"Accept-Encoding": "identity"}
            self._client = InferenceClient(options["model"], api_key=self.key() or None, headers=headers, **settings)
        return self._client

    def ask(self, request: Request) -> Answer:
        from huggingface_hub import errors
        from huggingface_hub.utils import httpx

        options = self.options
        try:
            image = self._http().text_to_image(
                request.prompt.text,
                negative_prompt=options["negative_prompt"] or None,
                width=options["width"],
                height=options["height"],
                num_inference_steps=options["steps"],
                guidance_scale=options["guidance"],
                seed=request.seed,
            )
        except errors.OfflineModeIsEnabled:
            raise self.error("model", "the Hub is switched off: unset HF_HUB_OFFLINE") from None
        except errors.HfHubHTTPError as error:
            answer = error.response
            return self.judge(answer.status_code, f"{error} {answer.text[:1000]}", answer.headers.get("retry-after"))
        except (httpx.HTTPError, errors.InferenceTimeoutError) as error:
            raise TryAgainError(self.plain(f"{type(error).__name__}: {error}")) from None
        except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:  # Pillow opens the answer
            return Refused(self.plain(f"the answer is no usable image: {error}"))
        return checked(_original(image))


def _original(image: Any) -> bytes:
    """The bytes that the client opened the image from; undecoded, so that our own checks come first."""
    source = getattr(image, "fp", None)
    if isinstance(source, io.BytesIO):
        return source.getvalue()
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()
