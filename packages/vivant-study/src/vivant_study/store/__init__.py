"""Where a study's people and answers lie: SQLite in the study's folder, or PostgreSQL by URL."""

from vivant_study.store.database import StoreError, StoreUnavailableError
from vivant_study.store.progress import ItemProgress, StudyEvent, StudyProgress
from vivant_study.store.store import StudyStore, open_store

__all__ = [
    "ItemProgress",
    "StoreError",
    "StoreUnavailableError",
    "StudyEvent",
    "StudyProgress",
    "StudyStore",
    "open_store",
]
