"""Where a study's people and answers lie: SQLite in the study's folder, or PostgreSQL by URL."""

from vivant.study.store.database import StoreError, StoreTroubleError
from vivant.study.store.store import Event, ItemProgress, Progress, Store, open_store

__all__ = ["Event", "ItemProgress", "Progress", "Store", "StoreError", "StoreTroubleError", "open_store"]
