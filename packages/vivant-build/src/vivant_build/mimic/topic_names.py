"""Names of topics by a model, and reviews of them by people or models: both are runs of the usual kind."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from vivant.core.errors import DataError
from vivant.core.files import write_jsonl
from vivant.runs.run import load_run
from vivant.runs.settings import digest
from vivant_build.mimic.notes import count_noun
from vivant_build.mimic.steps import BuildStep
from vivant_build.mimic.topics import Topic

RUNS = ".topic-names"
_LONGEST_NAME = 60
_MOST_WORDS = 6
_LABEL = re.compile(r"^(?:name|topic|answer)\s*[:：]\s*", re.IGNORECASE)
_NO_NAME = re.compile(r"[{}\[\]<>|]")
_OBJECT = re.compile(r"\{.*\}", re.DOTALL)
_AROUND = " \t\"'`*_.。“”‘’«»「」"
_QUESTION = (
    "Videos of one topic have these terms in common: {terms}.\nSome of their titles:\n\n{titles}\n\n"
    "Name the topic in one to four words, in the language of the titles. Be as specific as the titles allow. "
    "Reply with the name alone."
)


def name_topics(
    work: Path, step: BuildStep, topics: list[Topic], model: str, base_url: str | None, seed: int
) -> list[Topic]:
    """The topics with a model's names; one whose reply is no name keeps that of its terms, and is counted."""
    from vivant.engine.evaluation import evaluate

    # By what is asked and of whom, so that a review or a resumed step pays for nothing twice.
    folder = work / RUNS / digest([model, [(topic.id, topic.terms, topic.examples) for topic in topics]])[:12]
    folder.mkdir(parents=True, exist_ok=True)
    questions = folder / "names.jsonl"
    write_jsonl(
        questions,
        [
            {
                "id": topic.id,
                "question": _QUESTION.format(
                    terms=", ".join(topic.terms), titles="\n".join(f"– {title}" for title in topic.examples)
                ),
                "answer": topic.name,
            }
            for topic in topics
        ],
    )
    run = evaluate(str(questions), model, base_url=base_url, out=folder / "run", seed=seed)
    names: dict[str, str] = {}
    for record in run.records().values():
        if record.reply.status == "ok":
            names[record.id] = parse_name(record.reply.text)
    missing = [topic.id for topic in topics if not names.get(topic.id)]
    if len(missing) == len(topics):
        raise step.fail(f"{model} named none of {len(topics)} topics; its replies are in {folder / 'run'}")
    if missing:
        step.note(
            f"{model} gave no usable name for {len(missing)} of {len(topics)} topics, which keep their terms: "
            f"{', '.join(missing[:5])}"
        )
    return [
        msgspec.structs.replace(topic, name=names[topic.id], named_by=model) if names.get(topic.id) else topic
        for topic in topics
    ]


def parse_name(reply: str) -> str:
    """The name in a reply, plain or as the one text of a JSON object; nothing where the reply is none."""
    if packed := _OBJECT.search(reply):
        try:
            texts = [value for value in msgspec.json.decode(packed[0]).values() if isinstance(value, str)]
        except msgspec.DecodeError:
            return ""
        reply = texts[0] if len(texts) == 1 else ""
    lines = [line.strip(_AROUND) for line in reply.strip().splitlines() if line.strip(_AROUND)]
    if not lines:
        return ""
    name = _LABEL.sub("", lines[-1]).strip(_AROUND)
    usable = 2 <= len(name) <= _LONGEST_NAME and len(name.split()) <= _MOST_WORDS
    return name if usable and any(map(str.isalpha, name)) and not _NO_NAME.search(name) else ""


def apply_review(step: BuildStep, topics: list[Topic], review: Path, agreement: float) -> list[Topic]:
    """The topics with those marked as dropped whose name the answers do not choose often enough."""
    names = {topic.id: topic.name for topic in topics}
    right: dict[str, list[bool]] = {}
    for part in load_run(review).scores():
        for sample, _, score in part.rows:
            asked = sample.options[sample.key].text if sample.key is not None else ""
            if names.get(sample.id) != asked:
                raise DataError(
                    f"{review} asks about other topics ({sample.id}: '{asked}'); it must be a run on questions.jsonl "
                    "of topics made with the same settings and the same --topics-by"
                )
            if score.status == "scored":
                right.setdefault(sample.id, []).append(bool(score.value))
    if not right:
        raise DataError(f"{review} has no scored answers; finish the run or the study first")
    result = []
    for topic in topics:
        answers = right.get(topic.id)
        share = sum(answers) / len(answers) if answers else 1.0
        dropped = "its name was not chosen in the review" if share < agreement else ""
        result.append(msgspec.structs.replace(topic, dropped=dropped))
    step.note(
        f"reviewed: {count_noun(sum(map(len, right.values())), 'answer')} on {len(right)} of {len(topics)} topics; "
        f"at least {agreement:.0%} must choose a topic's name"
    )
    return result
