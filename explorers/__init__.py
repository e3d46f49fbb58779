"""The tabs, in the order of a story. Adding one is a module with SLUG, TITLE and build, and its name here."""

from explorers import about, browse, captions, faces, live, neighbours, neutrality, published, regions, representation

EXPLORERS = (browse, faces, regions, representation, captions, neighbours, neutrality, live, published, about)
