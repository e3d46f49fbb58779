"""Real but random language and vision-language models of some kilobytes, in the format that transformers writes."""

from __future__ import annotations

from pathlib import Path

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n"
    "{% if m['content'] is string %}{{ m['content'] }}{% else %}{% for part in m['content'] %}"
    "{% if part['type'] == 'image' %}IMAGE{% else %}{{ part['text'] }}{% endif %}{% endfor %}{% endif %}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SIZES = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
SPREAD = {"initializer_range": 0.4}
"""Weights large enough that what a model reads changes what it answers."""


def tokenizer(template: str | None = CHATML, extra: tuple[str, ...] = ()):
    """Bytes as tokens, two words that merge, and the marks of ChatML."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [("m", "a"), ("l", "e"), ("ma", "le"), ("n", "o"), ("Ġ", "no"), ("\u010a", "\u010a")]
    words = [*letters, *(a + b for a, b in merges)]
    bytes_ = Tokenizer(models.BPE(vocab={word: place for place, word in enumerate(words)}, merges=merges))
    bytes_.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bytes_.decoder = decoders.ByteLevel()
    made = PreTrainedTokenizerFast(
        tokenizer_object=bytes_, eos_token="<|im_end|>", pad_token="<|pad|>", bos_token="<|im_start|>"
    )
    if extra:
        made.add_special_tokens({"additional_special_tokens": list(extra)})
    made.chat_template = template
    return made


def make_lm(folder: Path, kind: str = "llama", template: str | None = CHATML, **options) -> Path:
    """Save a causal model of a kind of transformers with random weights, and its tokenizer."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    torch.manual_seed(0)
    words = tokenizer(template)
    sizes = {"max_position_embeddings": 2048, **SIZES, **options}
    if kind == "gpt2":
        sizes = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 2048}
    marks = {"bos_token_id": words.bos_token_id, "eos_token_id": words.eos_token_id, "pad_token_id": 0}
    config = AutoConfig.for_model(kind, vocab_size=len(words), **sizes, **marks, **SPREAD)
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    words.save_pretrained(folder)
    return folder


def make_llava(folder: Path) -> Path:
    """Save a LlavaForConditionalGeneration for pictures of 28 x 28 pixels, 4 tokens each, and its processor."""
    import torch
    from transformers import CLIPVisionConfig, LlamaConfig, LlavaConfig, LlavaForConditionalGeneration, LlavaProcessor
    from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

    torch.manual_seed(0)
    template = CHATML.replace("IMAGE", "<image>")
    words = tokenizer(template, ("<image>",))
    text = LlamaConfig(vocab_size=len(words), max_position_embeddings=2048, pad_token_id=0, **SIZES, **SPREAD)
    vision = CLIPVisionConfig(image_size=28, patch_size=14, projection_dim=16, **SIZES, **SPREAD)
    image = words.convert_tokens_to_ids("<image>")
    config = LlavaConfig(
        vision_config=vision, text_config=text, image_token_id=image, image_seq_length=4, vision_feature_layer=-1
    )
    LlavaForConditionalGeneration(config).save_pretrained(folder)
    pictures = CLIPImageProcessorPil(size={"shortest_edge": 28}, crop_size={"height": 28, "width": 28})
    more = {"patch_size": 14, "vision_feature_select_strategy": "default", "num_additional_image_tokens": 1}
    LlavaProcessor(pictures, words, chat_template=template, image_token="<image>", **more).save_pretrained(folder)
    return folder


def make_qwen(folder: Path) -> Path:
    """Save a Qwen2VLForConditionalGeneration, whose places are three-dimensional, and its tokenizer."""
    import torch
    from transformers import Qwen2VLConfig, Qwen2VLForConditionalGeneration

    torch.manual_seed(0)
    marks = ("<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>")
    template = CHATML.replace("IMAGE", "<|vision_start|><|image_pad|><|vision_end|>")
    words = tokenizer(template, marks)
    start, end, image, video = words.convert_tokens_to_ids(list(marks))
    rope = {"rope_type": "default", "type": "mrope", "mrope_section": [1, 1, 2], "rope_theta": 10_000.0}
    text = {**SIZES, "num_key_value_heads": 2, "vocab_size": len(words), "rope_parameters": rope, **SPREAD}
    config = Qwen2VLConfig(
        text_config={**text, "max_position_embeddings": 2048, "bos_token_id": words.bos_token_id},
        vision_config={"depth": 2, "embed_dim": 16, "hidden_size": 32, "num_heads": 2, "mlp_ratio": 2, **SPREAD},
        image_token_id=image,
        video_token_id=video,
        vision_start_token_id=start,
        vision_end_token_id=end,
    )
    Qwen2VLForConditionalGeneration(config).save_pretrained(folder)
    words.save_pretrained(folder)
    return folder


class QwenProcessor:
    """What Qwen2VLProcessor does with one picture, without its video part (which wants torchvision)."""

    def __init__(self, folder: str | Path) -> None:
        from transformers import AutoTokenizer
        from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.chat_template = self.tokenizer.chat_template
        self._pictures = Qwen2VLImageProcessorPil(min_pixels=56 * 56, max_pixels=84 * 84)

    def apply_chat_template(self, said, **options):
        return self.tokenizer.apply_chat_template(said, **options)

    def __call__(self, text, images=None, return_tensors="pt"):
        seen = dict(self._pictures(images=images, return_tensors="pt")) if images else {}
        if images:
            times = int(seen["image_grid_thw"][0].prod()) // 4
            text = [text[0].replace("<|image_pad|>", "<|image_pad|>" * times, 1)]
        made = dict(self.tokenizer(text, return_tensors="pt"))
        made.pop("token_type_ids", None)
        image = self.tokenizer.convert_tokens_to_ids("<|image_pad|>")
        return made | seen | {"mm_token_type_ids": (made["input_ids"] == image).long()}
