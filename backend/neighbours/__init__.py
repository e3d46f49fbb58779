"""Images that are like another: by colour, by visual words (structure) and by an embedding (content).

parts.py holds what all share, colour.py and words.py turn one picture into features, vectors.py and finders.py search,
search.py is what others call, upload.py reads pictures from outside. Stable Bias, section 4.3.
"""

from backend.neighbours.parts import Found, Kind, NeighbourError, Query
from backend.neighbours.search import MOST, kinds, search
from backend.neighbours.upload import query_of

__all__ = ["MOST", "Found", "Kind", "NeighbourError", "Query", "kinds", "query_of", "search"]
