"""What a new study says to participants: our own words in English and Chinese, written out to be edited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files

from vivant.core.errors import unknown_name_error
from vivant.study.design import Kind, LocalizedText, StudyCriterion, StudyQuestion
from vivant.study.loading import CONSENT, INSTRUCTIONS, StudyTexts

LANGUAGES = ("en", "zh")
TITLES: Mapping[Kind, LocalizedText] = {
    "mcq": {"en": "Look and choose", "zh": "观看并选择"},
    "free-then-mcq": {"en": "What are they doing?", "zh": "他们在做什么？"},
    "blind-comments": {"en": "Who wrote this comment?", "zh": "这条评论是谁写的？"},
    "rating": {"en": "How good is this answer?", "zh": "这个回答有多好？"},
    "pairwise": {"en": "Which answer is better?", "zh": "哪个回答更好？"},
}
MIME_WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "question_free": "What is this person doing?",
        "question_choose": "Which of these is this person doing?",
    },
    "zh": {"question_free": "这个人在做什么？", "question_choose": "这个人在做下列哪一件事？"},
}
"""Texts of the interface that ask after mimed actions, by language and name."""
QUESTIONS = (
    StudyQuestion(
        name="age",
        text={"en": "How old are you?", "zh": "您的年龄是？"},
        choices=(
            {"en": "18 to 24", "zh": "18 至 24 岁"},
            {"en": "25 to 34", "zh": "25 至 34 岁"},
            {"en": "35 to 49", "zh": "35 至 49 岁"},
            {"en": "50 or older", "zh": "50 岁及以上"},
            {"en": "I would rather not say", "zh": "不愿透露"},
        ),
    ),
    StudyQuestion(
        name="fluency",
        text={
            "en": "How well do you understand the language of the tasks?",
            "zh": "您对任务所用语言的掌握程度如何？",
        },
        choices=(
            {"en": "It is my first language", "zh": "是我的母语"},
            {"en": "Fluently", "zh": "流利"},
            {"en": "Well enough", "zh": "够用"},
            {"en": "Hardly", "zh": "很少"},
        ),
    ),
    StudyQuestion(
        name="watching",
        text={"en": "How often do you watch videos on the internet?", "zh": "您多久看一次网络视频？"},
        choices=(
            {"en": "Every day", "zh": "每天"},
            {"en": "Every week", "zh": "每周"},
            {"en": "Less often", "zh": "更少"},
        ),
        required=False,
    ),
)
REALISM = StudyCriterion(
    name="realism",
    text={
        "en": "How much does it read like a real viewer's comment?",
        "zh": "它读起来有多像真实观众的评论？",
    },
    low=0,
    high=5,
)
SCORE = StudyCriterion(
    name="score",
    text={"en": "How good is this answer on the whole?", "zh": "总的来说，这个回答有多好？"},
    low=0,
    high=6,
)
_POINTS: Mapping[str, LocalizedText] = {
    "text": {
        "en": "The text is fluent, correct and says what the question calls for.",
        "zh": "文字通顺、正确，并且答其所问。",
    },
    "pictures": {
        "en": "Pictures are there where needed, clear, and free of flaws that mislead.",
        "zh": "需要图片的地方有图片，图片清楚，没有误导性的缺陷。",
    },
    "coherence": {
        "en": "Each picture shows what the text around it says, in order.",
        "zh": "每张图片与其前后的文字相符，顺序正确。",
    },
    "context": {
        "en": "Persons, place, time and events of the beginning go on without contradiction.",
        "zh": "开头的人物、地点、时间和事件得到延续，没有矛盾。",
    },
    "invention": {
        "en": "The story goes somewhere of its own instead of repeating what was given.",
        "zh": "故事有自己的发展，而不是重复已有的内容。",
    },
    "method": {
        "en": "The steps are right, complete and in order; who follows them gets there.",
        "zh": "步骤正确、完整、有序，照着做就能成功。",
    },
    "interest": {
        "en": "It is told with ideas that make one want to try.",
        "zh": "讲述有新意，让人想要尝试。",
    },
    "style": {
        "en": "All pictures, those of the question included, look as if one hand had made them.",
        "zh": "所有图片（包括问题中的）看起来出自同一人之手。",
    },
    "question": {"en": "The question's text is understood.", "zh": "理解了问题的文字。"},
    "reading": {"en": "The question's pictures are read rightly.", "zh": "正确理解了问题中的图片。"},
    "reasoning": {
        "en": "The steps of reasoning are clear and follow from each other.",
        "zh": "推理步骤清楚，前后衔接。",
    },
    "parts": {
        "en": "At least part of the way or of the result is right.",
        "zh": "过程或结果至少有一部分正确。",
    },
    "result": {"en": "The final answer is right.", "zh": "最终答案正确。"},
    "excellence": {
        "en": "Nothing is wrong, missing or beside the point.",
        "zh": "没有错误、遗漏或跑题之处。",
    },
}
_FEELING = StudyCriterion(
    name="feeling",
    text={
        "en": "Take one point off if the answer leaves you cold or moves you the wrong way.",
        "zh": "如果回答毫无感染力或引起不恰当的情绪，扣一分。",
    },
    low=-1,
    high=0,
)
MMIE_POINTS: Mapping[str, tuple[str, ...]] = {
    "sa": ("text", "pictures", "coherence", "context", "invention", "style"),
    "pbl": ("text", "pictures", "coherence", "method", "interest", "style"),
    "msr": ("question", "reading", "reasoning", "parts", "result", "excellence"),
}
"""The six points of each category: their sum, less one where the feeling is wrong, is the score from 0 to 6."""
_CATEGORIES: Mapping[str, LocalizedText] = {
    "sa": {"en": "Stories that go on", "zh": "续写故事"},
    "pbl": {"en": "How to do a thing", "zh": "讲解做法"},
    "msr": {"en": "Problems to solve", "zh": "解答问题"},
}
_EACH: LocalizedText = {
    "en": "The score from 0 to 6 is the number of these points that an answer earns:",
    "zh": "0 至 6 分，即回答达到以下各条的条数：",
}


def choose_mmie_criteria(tasks: Sequence[str]) -> tuple[StudyCriterion, ...]:
    """Point by point where all answers are of one category; one score from 0 to 6 where they are mixed."""
    if len(tasks) != 1 or tasks[0] not in MMIE_POINTS:
        return (SCORE,)
    points = tuple(
        StudyCriterion(name=name, text=_POINTS[name], low=0, high=1) for name in MMIE_POINTS[tasks[0]]
    )
    return points if tasks[0] == "msr" else (*points, _FEELING)


def format_mmie_guide(tasks: Sequence[str], language: str) -> str:
    """For a score over several categories: what earns a point in each, as Markdown."""
    known = [task for task in MMIE_POINTS if task in tasks]
    if len(tasks) < 2 or not known:
        return ""
    lines = [_EACH[language], ""]
    for task in known:
        lines.append(f"**{_CATEGORIES[task][language]}**\n")
        lines += [f"- {_POINTS[name][language]}" for name in MMIE_POINTS[task]]
        lines += ([f"- {_FEELING.text[language]}"] if task != "msr" else []) + [""]
    return "\n".join(lines).strip()


def load_texts(kind: Kind, language: str, criteria: str = "") -> StudyTexts:
    """The bundled instructions and consent of a kind of study."""
    if language not in LANGUAGES:
        raise unknown_name_error(
            "language", language, LANGUAGES, "(others: add their files to the study afterwards)"
        )
    folder = files("vivant.study") / "texts"
    instructions = (folder / f"{INSTRUCTIONS}.{kind}.{language}.md").read_text(encoding="utf-8")
    consent = (folder / f"{CONSENT}.{language}.md").read_text(encoding="utf-8")
    filled = instructions.replace("{criteria}\n\n", f"{criteria}\n\n" if criteria else "")
    return StudyTexts(filled, consent)


_CHECK_MCQ: LocalizedText = {
    "en": "This one checks that you are reading. Please choose “{}”.",
    "zh": "这一题用来确认您在认真阅读。请选择“{}”。",
}
_CHECK_FREE: LocalizedText = {
    "en": "This one checks that you are reading. Please write “{0}” first, then choose “{0}”.",
    "zh": "这一题用来确认您在认真阅读。请先写下“{0}”，再选择“{0}”。",
}
_CHECK_COMMENT: LocalizedText = {
    "en": "This line checks that you are reading. Please say that a machine wrote it, and give it 0.",
    "zh": "这一条用来确认您在认真阅读。请选择“机器”，并打 0 分。",
}
_CHECK_RATING: LocalizedText = {
    "en": "This one checks that you are reading. Please choose the lowest number by every criterion.",
    "zh": "这一题用来确认您在认真阅读。请在每条标准上都选最低分。",
}
_CHECK_SIDES: tuple[LocalizedText, LocalizedText] = (
    {
        "en": "This one checks that you are reading. Please choose this answer.",
        "zh": "这一题用来确认您在认真阅读。请选择这个回答。",
    },
    {"en": "Please do not choose this answer.", "zh": "请不要选择这个回答。"},
)
CHECK_OPTIONS = ("apple", "river", "window", "seven")


def format_check(kind: Kind, languages: Sequence[str], word: str = "") -> tuple[str, ...]:
    """What an attention check of a kind says, in all languages of the study at once: one text, two for pairs."""
    chosen: Mapping[Kind, tuple[LocalizedText, ...]] = {
        "mcq": (_CHECK_MCQ,),
        "free-then-mcq": (_CHECK_FREE,),
        "blind-comments": (_CHECK_COMMENT,),
        "rating": (_CHECK_RATING,),
        "pairwise": _CHECK_SIDES,
    }
    return tuple(
        "\n\n".join(words[language].format(word) for language in languages) for words in chosen[kind]
    )
