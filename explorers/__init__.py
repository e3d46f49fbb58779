"""The tabs, in the order of a story. Adding one is a module with SLUG, TITLE and build, and its name here."""

from explorers import (
    about,
    benchmarks,
    browse,
    captions,
    faces,
    hiring,
    live,
    neighbours,
    neutrality,
    published,
    regions,
    representation,
)

GROUPS = {
    "See": (browse, faces),
    "Measure": (regions, representation, captions, neighbours),
    "Probe": (neutrality, hiring, benchmarks, live),
    "About": (published, about),
}
"""What stands above the tabs, for the eye."""
EXPLORERS = tuple(module for group in GROUPS.values() for module in group)
