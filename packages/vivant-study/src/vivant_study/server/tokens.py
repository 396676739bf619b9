"""What tells a request apart: signed cookies, tokens against cross-site posting, names of pages and media.

All are hashes with the study's secret, so none can be guessed, made or carried over to another person.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache, partial

from vivant.web.security import same_secret
from vivant_study.design import Page
from vivant_study.store.people import digest

ADMIN_COOKIE = "vivant-study-admin"
ADMIN_HOURS = 12
_REMEMBERED = 10_000


class Tokens:
    """Makes and checks them, for one study."""

    def __init__(self, secret: bytes) -> None:
        # Each request of a session asks for the same few.
        self._digest = lru_cache(_REMEMBERED)(partial(digest, secret))
        # Browsers keep the cookies of a host together, whatever its ports; a path's are sent below it, too.
        own = self._digest("cookie names")[:8]
        self.session_cookie = f"vivant-study-{own}"
        """The name of the cookie that holds a participant's session."""
        self.ids_cookie = f"vivant-study-ids-{own}"
        """The name of that which holds the platform's identifiers."""

    def cookie(self, participant: int) -> str:
        """The session of a participant."""
        return f"{participant}.{self._digest('cookie', str(participant))[:40]}"

    def participant(self, cookie: str) -> int | None:
        """Whose session that is; None where it was not made here."""
        number, _, _ = cookie.partition(".")
        if not number.isdecimal() or len(number) > 18 or not number.isascii():
            return None
        return int(number) if same_secret(cookie, self.cookie(int(number))) else None

    def form(self, participant: int) -> str:
        """What a form of this person's must bring back."""
        return self._digest("form", str(participant))[:32]

    def page(self, participant: int, assignment: int, page: Page) -> str:
        """A page's name in forms."""
        return self._digest("page", str(participant), str(assignment), page)[:24]

    def find_page(
        self, participant: int, name: str, assignments: Iterable[int], pages: Iterable[Page]
    ) -> tuple[int, Page] | None:
        """Which page of this person's a name stands for; None for none."""
        pages = tuple(pages)
        for assignment in assignments:
            for page in pages:
                if same_secret(name, self.page(participant, assignment, page)):
                    return assignment, page
        return None

    def media(self, participant: int, assignment: int, number: int) -> str:
        """A media file's name in addresses: it says nothing, and opens the file to this person alone."""
        return self._digest("media", str(participant), str(assignment), str(number))[:32]

    def door(self) -> str:
        """The unguessable part of the study's open link."""
        return self._digest("door")[:24]

    def admin(self, token: str, until: int) -> str:
        """The session of the researcher."""
        return f"{until}.{self._digest('admin', token, str(until))[:40]}"

    def is_admin(self, cookie: str, token: str, now: float) -> bool:
        """Whether that is a researcher's session that still holds."""
        until = cookie.partition(".")[0]
        if not until.isdecimal() or not until.isascii() or len(until) > 12:
            return False
        return same_secret(cookie, self.admin(token, int(until))) and int(until) > now

    def admin_form(self, cookie: str) -> str:
        """What a form of the researcher's must bring back."""
        return self._digest("admin-form", cookie)[:32]
