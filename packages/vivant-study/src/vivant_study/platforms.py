"""Recruiting platforms: how they name a participant in a link, and where each participant goes back to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal
from urllib.parse import quote

from msgspec import Meta, Struct, field

Outcome = Literal[
    "completed", "screened_out", "failed_attention", "no_consent", "full", "timed_out", "withdrawn"
]
"""How a participant's visit ends."""
OUTCOMES: tuple[Outcome, ...] = (
    "completed", "screened_out", "failed_attention", "no_consent", "full", "timed_out", "withdrawn",
)  # fmt: skip
PlatformName = Literal["prolific", "mturk", "cloudresearch", "sona", "other"]
Amount = Annotated[float, Meta(ge=0)]


class PlatformReturn(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a participant takes back to the platform. Either may be empty."""

    url: str = ""
    """A link; {participant}, {study}, {session}, {annotator} and {code} are filled in."""
    code: str = ""
    """Shown as text, to be pasted."""


class StudyPlatform(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The platform that participants come from."""

    name: PlatformName = "prolific"
    participant: str = ""
    """Name of the link's parameter that holds the participant's identifier; empty: the platform's usual one."""
    study: str = ""
    session: str = ""
    returns: dict[Outcome, PlatformReturn] = field(default_factory=dict)


class StudyPayment(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What people are paid. `vivant study pay` makes a sheet of it."""

    currency: str = ""
    amounts: dict[Outcome, Amount] = field(default_factory=dict)
    """By how a visit ended; an outcome that is not named pays nothing."""
    bonus_per_right: Amount = 0.0
    """For each right choice or verdict, by the key."""
    bonus_checks: Amount = 0.0
    """For passing every attention check."""
    most_bonus: Amount | None = None


class AttentionRule(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What happens in a session when an attention check is failed."""

    rule: Literal["mark", "warn", "end"] = "mark"
    """mark: the report shows it. warn: the participant is told. end: told, and after `failures` the session ends."""
    failures: Annotated[int, Meta(ge=1)] = 2


class PlatformIds(Struct, frozen=True):
    """Identifiers that a platform put into the link. They stay in the participant's browser."""

    participant: str = ""
    study: str = ""
    session: str = ""


_PARAMETERS: Mapping[PlatformName, PlatformIds] = {
    "prolific": PlatformIds("PROLIFIC_PID", "STUDY_ID", "SESSION_ID"),
    "mturk": PlatformIds("workerId", "hitId", "assignmentId"),
    "cloudresearch": PlatformIds("participantId", "projectId", "assignmentId"),
    "sona": PlatformIds("survey_code", "", ""),
    "other": PlatformIds("participant", "study", "session"),
}
_FILLED_BY_PLATFORM: Mapping[PlatformName, str] = {
    "prolific": "{{%{name}%}}",
    "mturk": "",
    "cloudresearch": "{{{name}}}",
    "sona": "%SURVEY_CODE%",
    "other": "{NAME}",
}
"""How the platform writes what it fills in. MTurk gives them to the task's own page, which hands them on."""
_HANDED_IN: tuple[Outcome, ...] = ("completed", "screened_out", "failed_attention")
"""What MTurk and CloudResearch take a code for: Connect by completion branches, a HIT by its form. All else is returned
there by the participant; SONA credits completion alone. Prolific has a code for whatever the researcher names."""
_PREVIEWS = ("ASSIGNMENT_ID_NOT_AVAILABLE",)
"""What MTurk sends while a worker only looks at a task."""


def list_parameters(platform: StudyPlatform | None) -> PlatformIds:
    """Names of the parameters that hold the participant, the study and the session."""
    chosen = platform or StudyPlatform()
    usual = _PARAMETERS[chosen.name]
    return PlatformIds(
        chosen.participant or usual.participant, chosen.study or usual.study, chosen.session or usual.session
    )


def read_ids(platform: StudyPlatform | None, query: Mapping[str, str]) -> PlatformIds:
    """The identifiers in a link's parameters; empty ones where the platform only shows a preview."""
    names = list_parameters(platform)
    ids = PlatformIds(
        *(query.get(name, "") if name else "" for name in (names.participant, names.study, names.session))
    )
    return PlatformIds() if ids.session in _PREVIEWS else ids


def format_query(platform: StudyPlatform | None) -> str:
    """What is pasted behind the open link at the platform, with its placeholders."""
    chosen = platform or StudyPlatform()
    names = list_parameters(chosen)
    written = _FILLED_BY_PLATFORM[chosen.name]
    if not written:
        return ""
    parameters = [name for name in (names.participant, names.study, names.session) if name]
    return "?" + "&".join(
        f"{name}={written.replace('{name}', name).replace('{NAME}', name.upper())}" for name in parameters
    )


def fill_return(back: PlatformReturn, ids: PlatformIds, annotator: str) -> PlatformReturn:
    """A return with the participant's own values in its link."""
    url = back.url
    values = {
        "participant": ids.participant, "study": ids.study, "session": ids.session, "annotator": annotator,
        "code": back.code,
    }  # fmt: skip
    for name, value in values.items():
        url = url.replace("{" + name + "}", quote(value, safe=""))
    return PlatformReturn(url=url, code=back.code)


def preset_returns(name: PlatformName) -> dict[Outcome, PlatformReturn]:
    """Returns for a new study, to be filled in."""
    if name == "prolific":
        link = "https://app.prolific.com/submissions/complete?cc={code}"
        return {outcome: PlatformReturn(url=link, code=f"EDIT-{outcome.upper()}") for outcome in OUTCOMES}
    if name == "sona":
        link = (
            "https://EDIT.sona-systems.com/webstudy_credit.aspx?experiment_id=EDIT&credit_token=EDIT"
            "&survey_code={participant}"
        )
        return {"completed": PlatformReturn(url=link)}
    handed_in = _HANDED_IN if name in ("mturk", "cloudresearch") else OUTCOMES
    return {outcome: PlatformReturn(code=f"EDIT-{outcome.upper()}") for outcome in handed_in}


def find_platform_faults(platform: StudyPlatform | None) -> list[str]:
    """What of a platform's settings cannot work."""
    faults: list[str] = []
    for outcome, back in (platform.returns if platform else {}).items():
        if back.url and not back.url.startswith(("https://", "http://")):
            faults.append(f"the return link for '{outcome}' is no address: {back.url}")
        if not back.url and not back.code:
            faults.append(f"the return for '{outcome}' has neither a link nor a code")
    return faults


def find_unedited_returns(platform: StudyPlatform | None) -> list[str]:
    """Outcomes whose return is as it came."""
    returns = platform.returns if platform else {}
    return [outcome for outcome, back in returns.items() if "EDIT" in back.url + back.code]
