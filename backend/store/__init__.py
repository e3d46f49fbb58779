"""The only room that knows where an audit's files lie.

files.py says how files become whole, shards.py holds images, reader.py has `Audit`, writer.py `AuditWriter`
(imports, generation), rows.py their tables, journal.py what gave no image, and stages.py `StageWriter` (what is
computed from an audit).
"""

from backend.store.files import StoreError, audit_folder, audit_names, writing
from backend.store.reader import Audit
from backend.store.rows import interrupted
from backend.store.stages import StageWriter
from backend.store.writer import AuditWriter

__all__ = ["Audit", "AuditWriter", "StageWriter", "StoreError", "audit_folder", "audit_names", "interrupted", "writing"]
