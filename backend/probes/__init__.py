"""Probes: neutral inputs -> what language and vision-language models answer."""
