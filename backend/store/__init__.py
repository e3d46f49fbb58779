"""The only room that knows where an audit's files lie.

files.py says how files become whole, shards.py holds images, reader.py has `Audit`, writer.py `AuditWriter`
(imports, generation), rows.py and frames.py their tables, journal.py what gave no image, and stages.py `StageWriter`
(what is computed from an audit). vectors.py reads embeddings, regions and maps (`Audit.vectors`), vector_writers.py
writes them; arrays.py holds the one, summaries.py the other of their files.
neighbours.py reads and neighbour_writers.py writes what finds images that are like another (`Audit.neighbours`).
texts.py reads captions and answers (`Audit.texts`), text_writers.py writes them; probes.py and probe_writers.py do so
with what models answered to neutral inputs (`Audit.probes`), benchmarks.py and benchmark_writers.py with what they
answered in benchmarks (`Audit.benchmarks`), hiring.py, hiring_checks.py and hiring_writers.py with what they answered
about two applicants (`Audit.hiring`). faces.py reads detections and average faces (`Audit.faces`), face_tables.py says
what they must be, face_writers.py writes them.
"""

from backend.store.benchmark_writers import BenchmarkWriter, write_benchmarks
from backend.store.benchmarks import BenchmarkSource, BenchmarkTask
from backend.store.checks import stage_parts
from backend.store.face_writers import FaceWriter, detection_row, write_averages
from backend.store.faces import Faces, averages_stage
from backend.store.files import StoreError, audit_folder, audit_names, writing
from backend.store.hiring import HiringSource
from backend.store.hiring_writers import HiringWriter, write_hiring
from backend.store.neighbour_writers import ColourWriter, WordsWriter, write_links
from backend.store.neighbours import Links, Words
from backend.store.probe_writers import Kept, ProbeWriter, write_probes
from backend.store.probes import ProbeSource
from backend.store.reader import Audit
from backend.store.rows import interrupted
from backend.store.stages import StageWriter
from backend.store.summaries import Quality, Region, Summary
from backend.store.text_writers import TextWriter, write_texts
from backend.store.texts import LONGEST_TEXT, TextSource
from backend.store.vector_writers import EmbeddingWriter, write_map, write_regions
from backend.store.vectors import Regions, Vectors
from backend.store.writer import AuditWriter

__all__ = [
    "LONGEST_TEXT",
    "Audit",
    "AuditWriter",
    "BenchmarkSource",
    "BenchmarkTask",
    "BenchmarkWriter",
    "ColourWriter",
    "EmbeddingWriter",
    "FaceWriter",
    "Faces",
    "HiringSource",
    "HiringWriter",
    "Kept",
    "Links",
    "ProbeSource",
    "ProbeWriter",
    "Quality",
    "Region",
    "Regions",
    "StageWriter",
    "StoreError",
    "Summary",
    "TextSource",
    "TextWriter",
    "Vectors",
    "Words",
    "WordsWriter",
    "audit_folder",
    "audit_names",
    "averages_stage",
    "detection_row",
    "interrupted",
    "stage_parts",
    "write_averages",
    "write_benchmarks",
    "write_hiring",
    "write_links",
    "write_map",
    "write_probes",
    "write_regions",
    "write_texts",
    "writing",
]
