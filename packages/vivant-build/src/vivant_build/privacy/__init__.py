"""Mask personal data in texts: the only module to import from outside this package. README.md explains its parts.

Anonymizer(salt).mask_texts(texts)      contacts, accounts, numbers, mentions, introductions
remove_names(texts, names)              the names of one uploader
NameBook(names, common).clean(column)   the names of everybody in a crawl
audit_privacy(published)                how well all of this works
"""

from __future__ import annotations

from vivant_build.privacy.audit import PrivacyReport, audit_privacy
from vivant_build.privacy.masking import Anonymizer, read_salt, remove_names
from vivant_build.privacy.name_book import NameBook, find_vocabulary, fold_names
from vivant_build.privacy.name_forms import fold_name
from vivant_build.privacy.text_forms import normalize_text

__all__ = [
    "Anonymizer",
    "NameBook",
    "PrivacyReport",
    "audit_privacy",
    "find_vocabulary",
    "fold_name",
    "fold_names",
    "normalize_text",
    "read_salt",
    "remove_names",
]
