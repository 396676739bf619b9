"""Recruiting platforms: how people come and go back, attention rules, freed places, and the payment sheet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from typer.testing import CliRunner

from tests.support.study_kit import judged, tiny_study
from tests.support.study_web import Clock, Walker, build_app, invite_walker, open_served_store
from vivant.cli.main import app as cli
from vivant.core.errors import UsageError
from vivant_study.check import check_study
from vivant_study.design import StudyQuestion
from vivant_study.loading import LoadedStudy, StudyError, load_study
from vivant_study.payment import compute_payment, read_platform_file
from vivant_study.platforms import (
    OUTCOMES,
    AttentionRule,
    PlatformName,
    PlatformReturn,
    StudyPayment,
    StudyPlatform,
    format_query,
    preset_returns,
)
from vivant_study.results import load_results
from vivant_study.server.serve import check_consent, first_link_path
from vivant_study.server.tokens import Tokens
from vivant_study.store import StudyStore, people
from vivant_study.store.database import StoreUnavailableError

RETURNS = {
    outcome: PlatformReturn(
        url=f"https://platform.example/{outcome}?cc={{code}}&who={{participant}}", code=f"C-{n}"
    )
    for n, outcome in enumerate(OUTCOMES)
}
Made = Callable[..., tuple[LoadedStudy, StudyStore, Any]]


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Made]:
    stores: list[StudyStore] = []

    def make(kind: Any = "mcq", *, clock: Any = None, **given: Any) -> tuple[LoadedStudy, StudyStore, Any]:
        platform = StudyPlatform(name=given.pop("name", "prolific"), returns=RETURNS)
        given = {"watch_whole": False, "platform": platform, **given}
        loaded = tiny_study(tmp_path / f"study{len(stores)}", kind, **given)
        store = open_served_store(loaded, **({"clock": clock} if clock else {}))
        stores.append(store)
        return loaded, store, build_app(loaded, store)

    yield make
    for store in stores:
        store.close()


def arrive(app: Any, store: StudyStore, who: str = "per/son 1", **names: str) -> Walker:
    """Somebody from a platform."""
    walker = Walker(app)
    query = names or {"PROLIFIC_PID": who, "STUDY_ID": "s", "SESSION_ID": "v"}
    walker.get(f"/start/{Tokens(store.secret).door()}", params=query)
    return walker


def returns_as(walker: Walker, outcome: str, who: str = "per%2Fson%201") -> bool:
    """Whether the page gives the link and the code of an outcome."""
    code = RETURNS[outcome].code  # type: ignore[index]
    return (
        f"https://platform.example/{outcome}?cc={code}&who={who}" in walker.text
        and f'<code class="code">{code}</code>' in walker.answer.text
    )


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("mturk", {"workerId": "p1", "hitId": "h", "assignmentId": "a"}),
        ("cloudresearch", {"participantId": "p1", "projectId": "h", "assignmentId": "a"}),
        ("sona", {"survey_code": "p1"}),
        ("other", {"participant": "p1", "study": "h", "session": "a"}),
    ],
)
def test_each_platforms_own_names(made: Made, name: Any, names: dict[str, str]) -> None:
    _, store, app = made(name=name)
    walker = arrive(app, store, **names)
    assert "Agree?" in walker.text
    walker.agree().walk()
    assert returns_as(walker, "completed", "p1")
    (person,) = store.people()
    assert (person.state, person.outcome) == ("finished", "completed")
    query = format_query(StudyPlatform(name=name))
    assert all(f"{parameter}=" in query for parameter in names) or name == "mturk"


def test_a_worker_who_only_looks_is_not_let_in(made: Made) -> None:
    _, store, app = made(name="mturk")
    walker = arrive(app, store, workerId="p1", hitId="h", assignmentId="ASSIGNMENT_ID_NOT_AVAILABLE")
    assert walker.answer.status_code == 400
    assert list(store.people()) == []


def test_the_platforms_identifiers_stay_in_the_browser(made: Made) -> None:
    loaded, store, app = made()
    arrive(app, store, "a-very-own-name").agree().walk()
    store.close()
    for file in loaded.path.glob("study.db*"):
        assert b"a-very-own-name" not in file.read_bytes()


def test_no_consent_records_nothing(made: Made) -> None:
    _, store, app = made()
    walker = arrive(app, store)
    walker.post("/study/decline")
    assert returns_as(walker, "no_consent")
    assert [person.state for person in store.people()] == ["invited"]
    walker.get("/study")
    assert "Agree?" in walker.text, "they may change their mind"


def test_screening(made: Made) -> None:
    age = StudyQuestion(
        name="age", text={"en": "Age?", "zh": "?"}, choices=({"en": "a", "zh": "a"}, {"en": "b", "zh": "b"}),
        screen_out=(1,),
    )  # fmt: skip
    _, store, app = made(questions=(age,), count=3, judgements_per_item=1)
    walker = arrive(app, store)
    walker.post("/study/consent", agree="yes")
    walker.send("/study/about", {"about.age": "1"})
    assert returns_as(walker, "screened_out")
    walker.get("/study")
    assert returns_as(walker, "screened_out")
    (person,) = store.people()
    assert (person.state, person.outcome) == ("ended", "screened_out")
    other = arrive(app, store, "other")
    other.post("/study/consent", agree="yes")
    assert "Age?" in other.text, "their places are free"


def test_all_places_are_taken(made: Made) -> None:
    _, store, app = made(count=3, judgements_per_item=1)
    invite_walker(app, store).walk()
    walker = arrive(app, store)
    walker.post("/study/consent", agree="yes")
    assert returns_as(walker, "full")


def test_the_time_for_the_session_is_up(made: Made) -> None:
    clock = Clock()
    _, store, app = made(session_limit=100, clock=clock)
    walker = arrive(app, store).agree()
    walker.next()
    clock.now += 104
    walker.get("/study")
    assert returns_as(walker, "timed_out")
    (person,) = store.people()
    assert (person.state, person.outcome) == ("ended", "timed_out")
    assert [judgement.complete for judgement in store.judgements()] == [True], "what was finished counts"
    assert store.progress().held == 0


def test_a_place_that_was_lost(made: Made) -> None:
    clock = Clock()
    _, store, app = made(count=3, judgements_per_item=1, clock=clock)
    slow = arrive(app, store).agree()
    clock.now += 700
    quick = arrive(app, store, "quick").agree()
    slow.get("/study")
    assert returns_as(slow, "timed_out")
    quick.walk()
    assert returns_as(quick, "completed", "quick")


def test_an_open_page_keeps_its_places(made: Made) -> None:
    clock = Clock()
    _, store, app = made(count=3, judgements_per_item=1, clock=clock)
    reader = arrive(app, store).agree()
    for _ in range(15):
        clock.now += 60
        assert reader.script("/study/watch", what="alive").json() == {"saved": True}
    late = arrive(app, store, "late")
    late.post("/study/consent", agree="yes")
    assert returns_as(late, "full", "late")


def test_withdrawing_leads_back_too(made: Made) -> None:
    _, store, app = made()
    walker = arrive(app, store).agree()
    walker.post("/study/withdraw")
    assert returns_as(walker, "withdrawn")


def fail_checks(walker: Walker) -> list[str]:
    """Answer everything, the checks wrongly; what was shown after each."""
    shown = []
    while walker.page:
        options = walker.options()
        walker.next(str(next(n for n, option in enumerate(options) if option not in ("sweeping", "casting"))))
        shown.append(walker.text)
        if "Please read carefully" in walker.text:
            walker.get("/study")
    return shown


def test_two_studies_of_one_host_keep_their_sessions_apart(made: Made) -> None:
    """A browser keeps the cookies of a host together, whatever its ports: each study looks for its own."""
    (_, first_store, first), (_, second_store, second) = made(), made()
    walker = arrive(first, first_store, "one").agree()
    page = walker.page
    other = arrive(second, second_store, "two")
    for cookie in other.client.cookies.jar:
        walker.client.cookies.jar.set_cookie(cookie)
    walker.get("/study")
    assert walker.page == page, "still at the same item"
    while walker.page:
        walker.next()
    assert returns_as(walker, "completed", "one"), "with the identifiers that this study was given"


def fail_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the database fail when the next visit is being ended."""

    def fail(*_: Any) -> None:
        monkeypatch.undo()
        raise StoreUnavailableError("The disk is full")

    monkeypatch.setattr(people, "log_event", fail)


def test_whoever_is_screened_out_stays_out_when_the_database_fails(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answers and the end are one: else a second try would find the questions answered, and let them in."""
    age = StudyQuestion(
        name="age", text={"en": "Age?", "zh": "?"}, choices=({"en": "a", "zh": "a"}, {"en": "b", "zh": "b"}),
        screen_out=(1,),
    )  # fmt: skip
    _, store, app = made(questions=(age,), count=3, judgements_per_item=1)
    walker = arrive(app, store)
    walker.post("/study/consent", agree="yes")
    form = {"form": walker.form, "about.age": "1"}
    fail_once(monkeypatch)
    assert walker.client.post("/study/about", data=form).status_code == 503
    walker._keep(walker.client.post("/study/about", data=form))
    assert returns_as(walker, "screened_out")


def test_a_failed_check_is_not_forgotten_when_the_database_fails(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, store, app = make_checked(made, "end", failures=1)
    walker = arrive(app, store).agree()
    for _ in range(20):
        form = {"form": walker.form, "page": walker.page, **walker.some_answer("0")}
        fail_once(monkeypatch)
        if walker.client.post("/study/answer", data=form).status_code == 503:
            break
        monkeypatch.undo()
        walker.get("/study")
    else:
        pytest.fail("no check was failed")
    walker._keep(walker.client.post("/study/answer", data=form))
    assert returns_as(walker, "failed_attention")
    (person,) = store.people()
    assert (person.failures, person.excluded) == (1, "failed 1 attention checks")


def make_checked(made: Made, rule: Any, failures: int = 2) -> tuple[LoadedStudy, StudyStore, Any]:
    """Items 6 and 7 are checks whose right options are `sweeping` and `casting`."""
    import msgspec

    from vivant_study.writing import write_study

    loaded, store, _ = made(
        checks=2, checks_per_participant=2, attention=AttentionRule(rule=rule, failures=failures)
    )
    items = [
        msgspec.structs.replace(item, expected={"choose": 2 + n % 2} if item.check else {})
        for n, item in enumerate(loaded.items)
    ]
    write_study(loaded.path, loaded.study, items, (), loaded.texts)
    loaded = load_study(loaded.path)
    return loaded, store, build_app(loaded, store)


def test_attention_checks_can_warn(made: Made) -> None:
    _, store, app = make_checked(made, "warn")
    walker = arrive(app, store).agree()
    assert sum("Please read carefully" in text for text in fail_checks(walker)) == 2
    (person,) = store.people()
    assert (person.state, person.failures, person.excluded) == ("finished", 2, "")


def test_attention_checks_can_end_a_session(made: Made) -> None:
    _, store, app = make_checked(made, "end")
    walker = arrive(app, store).agree()
    fail_checks(walker)
    assert returns_as(walker, "failed_attention")
    (person,) = store.people()
    assert (person.state, person.outcome) == ("ended", "failed_attention")
    assert person.excluded == "failed 2 attention checks"
    assert store.progress().held == store.progress().finished == 0, "their places go to others"


def test_attention_checks_are_only_marked_unless_told_otherwise(made: Made) -> None:
    _, store, app = make_checked(made, "mark")
    walker = arrive(app, store).agree()
    assert not any("Please read carefully" in text for text in fail_checks(walker))
    assert next(store.people()).state == "finished"


def test_checks_that_are_passed_are_no_failures(made: Made) -> None:
    _, store, app = make_checked(made, "end", failures=1)
    walker = arrive(app, store).agree()
    while walker.page:
        options = walker.options()
        walker.next(str(options.index("sweeping")))
    (person,) = store.people()
    assert person.failures == 1, "one of the two wants `casting`"


def test_the_platform_says_who_left(made: Made, tmp_path: Path) -> None:
    loaded, store, app = made(count=3, judgements_per_item=1)
    arrive(app, store, "gone-1").agree()
    file = tmp_path / "export.csv"
    file.write_text("Participant id,Status\ngone-1,RETURNED\nnever-came,TIMED-OUT\nother,APPROVED\n")
    store.close()
    result = CliRunner().invoke(cli, ["study", "release", str(loaded.path), "--from", str(file)])
    assert result.exit_code == 0, result.output
    assert "2 of 3 people have left" in result.output
    assert "gone-1: 3 unfinished places are free" in result.output
    assert "never-came: unknown here" in result.output
    again = open_served_store(loaded)
    assert again.progress().held == 0
    walker = arrive(build_app(loaded, again), again, "next").agree()
    assert walker.page
    again.close()


def test_the_payment_sheet(made: Made, tmp_path: Path) -> None:
    payment = StudyPayment(
        currency="GBP", amounts={"completed": 2.5, "screened_out": 0.14}, bonus_per_right=0.1, bonus_checks=0.5,
        most_bonus=0.6,
    )  # fmt: skip
    loaded, store, app = made(payment=payment, checks=1, checks_per_participant=1)
    for who in ("p-1", "p-2"):
        arrive(app, store, who).agree().walk()
    arrive(app, store, "p-3").agree()
    store.close()
    lines = {line.annotator: line for line in compute_payment(load_results(loaded.path))}
    assert sorted(line.outcome for line in lines.values()) == ["completed", "completed", "under way"]
    for line in lines.values():
        passed = line.checks == "1 of 1"
        wanted = min(0.6, line.right * 0.1 + passed * 0.5) if line.outcome == "completed" else 0.0
        assert line.bonus == pytest.approx(wanted)
        assert line.amount == (2.5 if line.outcome == "completed" else 0.0)
    file, out, bonus = tmp_path / "ids.txt", tmp_path / "pay.csv", tmp_path / "bonus.csv"
    file.write_text("p-1\np-3\nstranger\n")
    arguments = [
        "study",
        "pay",
        str(loaded.path),
        "--ids",
        str(file),
        "-o",
        str(out),
        "--bonus-file",
        str(bonus),
    ]
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 0, result.output
    assert "Not in the study: stranger" in result.output
    rows = out.read_text().splitlines()
    assert rows[0].startswith("participant,annotator,outcome")
    assert [row.split(",")[0] for row in rows[1:]] == ["p-1", "p-3"]
    paid = dict(line.split(",") for line in bonus.read_text().splitlines())
    assert set(paid) <= {"p-1"}


def test_a_sheet_without_a_payment_is_refused(tmp_path: Path) -> None:
    loaded = tiny_study(tmp_path / "study")
    judged(loaded, ["x"], lambda *_: 0)
    result = CliRunner().invoke(cli, ["study", "pay", str(loaded.path)])
    assert result.exit_code != 0
    assert "has no `payment`" in str(result.exception)


def test_files_of_platforms(tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    file.write_text("a,b\n1,2\n")
    with pytest.raises(Exception, match="no column names the participant"):
        read_platform_file(file)
    file.write_text("WorkerId,AssignmentStatus\nW1,Approved\n\nW2,Returned\n")
    assert [(line.participant, line.status) for line in read_platform_file(file)] == [
        ("W1", "Approved"),
        ("W2", "Returned"),
    ]


def test_returns_that_cannot_work_are_faults(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="the return link for 'full' is no address"):
        tiny_study(tmp_path / "a", platform=StudyPlatform(returns={"full": PlatformReturn(url="ftp:x")}))
    with pytest.raises(StudyError, match="has no choice 7 to screen out"):
        question = StudyQuestion(
            name="q", text={"en": "?", "zh": "?"}, choices=({"en": "a", "zh": "a"},) * 2, screen_out=(7,)
        )
        tiny_study(tmp_path / "b", questions=(question,))


def test_check_tells_what_to_recruit_and_to_edit(tmp_path: Path) -> None:
    platform = StudyPlatform(returns={"completed": PlatformReturn(code="EDIT-COMPLETED")})
    loaded = tiny_study(tmp_path / "study", platform=platform, expected_loss=0.2)
    result = check_study(loaded.path)
    assert "4 participants with 3 items each; recruit 5, as 20% may leave or fail" in result.summary
    assert any("returns for completed are as they came" in note for note in result.notes)


def test_a_consent_text_that_names_nobody_is_not_served(tmp_path: Path) -> None:
    loaded = tiny_study(tmp_path / "study")
    (loaded.path / "consent.zh.md").write_text("**请编辑本页**")
    with pytest.raises(UsageError, match=r"consent\.zh\.md is as it came and names nobody"):
        check_consent(load_study(loaded.path))


def test_the_link_that_serve_prints(made: Made) -> None:
    _, store, app = made()
    first = first_link_path(store)
    assert first == first_link_path(store), "the same at every start"
    assert list(store.people()) == [], "nobody is invited by printing it"
    walker = Walker(app)
    walker.get(first)
    again = Walker(app)
    again.get(first)
    assert len(list(store.people())) == 1
    walker.agree()
    assert walker.page
    assert first_link_path(store) == "", "until it is used"
    assert Walker(app).get("/join/" + "x" * 43).status_code == 404


def test_every_platform_says_what_to_do_at_every_ending(made: Made) -> None:
    """Where a platform takes neither a link nor a code, participants are told to return the task there."""
    taken = {name: set(preset_returns(name)) for name in get_args(PlatformName)}
    handed_in = {"completed", "screened_out", "failed_attention"}
    assert taken == {
        "prolific": set(OUTCOMES), "mturk": handed_in, "cloudresearch": handed_in, "sona": {"completed"},
        "other": set(OUTCOMES),
    }  # fmt: skip
    platform = StudyPlatform(name="sona", returns=preset_returns("sona"))
    _, store, app = made(platform=platform)
    walker = arrive(app, store, survey_code="p1")
    walker.post("/study/decline")
    assert "return or cancel this task" in walker.text
