"""How the app looks beyond assets/app.css: Gradio's theme."""

from __future__ import annotations

import gradio as gr

TEXT = gr.themes.Size(
    name="rem", xxs="0.6rem", xs="0.7rem", sm="0.8rem", md="0.9rem", lg="1rem", xl="1.35rem", xxl="1.6rem"
)
"""Gradio's text sizes in rem, so that the text grows with the reader's own setting."""


def make_theme() -> gr.themes.Base:
    """Gradio's plain theme with the system's own fonts (nothing is fetched) and text that reaches contrast AA."""
    font = ["system-ui", "-apple-system", "Segoe UI", "Roboto", "sans-serif"]
    mono = ["ui-monospace", "monospace"]
    theme = gr.themes.Base(
        primary_hue="teal", neutral_hue="slate", font=font, font_mono=mono, spacing_size="sm", text_size=TEXT
    )
    return theme.set(
        color_accent="*primary_700",
        body_text_color_subdued="*neutral_600",
        body_text_color_subdued_dark="*neutral_300",
        block_label_text_color="*neutral_600",
        block_label_text_color_dark="*neutral_300",
        block_title_text_color="*neutral_600",
        block_title_text_color_dark="*neutral_300",
        button_primary_background_fill="*primary_700",
        button_primary_background_fill_hover="*primary_800",
        button_primary_background_fill_dark="*primary_700",
        button_primary_text_color="white",
    )
