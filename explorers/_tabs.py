"""The bar of tabs: small words above its groups, for the eye alone. Tabs, their roles and their order stay Gradio's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def groups_html(groups: Mapping[str, Sequence[str]]) -> str:
    """A style sheet that puts each group's word above its first tab; the later half of the groups takes a second row
    where one row has no room (assets/app.css: --lk-row).

    >>> groups_html({"See": ["browse", "faces"]})
    '<style>#lk-tabs [data-tab-id="browse"]::before{content:"See" / "";}</style>'
    """
    rules = ""
    for at, (word, slugs) in enumerate(groups.items()):
        rules += f'#lk-tabs [data-tab-id="{slugs[0]}"]::before{{content:"{word}" / "";}}'
        if at:
            rules += f'#lk-tabs [data-tab-id="{slugs[0]}"]{{--lk-apart:1;}}'
        if at >= 2:
            named = ",".join(f'#lk-tabs [data-tab-id="{slug}"]' for slug in slugs)
            rules += f"{named}{{--lk-row:3;}}"
    return f"<style>{rules}</style>"
