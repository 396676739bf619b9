"""The names of everybody in a crawl are removed from its texts, and words stay."""

from __future__ import annotations

import pyarrow as pa
import pytest

from vivant_build.privacy import NameBook, fold_name


def test_names_of_all_people_leave_all_texts() -> None:
    names = [
        fold_name(name)
        for name in ("@quill_77", "Marta Walks", "Wanderlust", "Ana", "Ｏｔｔｏ Ｋｒａｎｉｃｈ")
    ]
    book = NameBook([name for name in names if name], common=frozenset({"wanderlust"}))
    texts = [
        "ask quill_77, or QUILL_77!",
        "MARTA walks again",
        "Marta Walkson walks",
        "my wanderlust, Ana",
        "otto kranich war da",
    ]
    assert book.clean(pa.array(texts)).to_pylist() == [
        "ask , or !",
        "again",
        "Marta Walkson walks",
        "my wanderlust, Ana",
        "war da",
    ]


def test_names_are_found_among_very_many() -> None:
    """Names of one word, of several and of scripts without spaces, each beside thousands of others."""
    crowd = [f"somebody{n}" for n in range(2000)] + [f"marta walks{n}" for n in range(2000)]
    crowd += [chr(0x4E00 + n) + chr(0x5E00 + n) + "先生" for n in range(2000)] + ["перолиста"]
    texts = [
        "ask somebody1999 or somebody2000",
        "Marta Walks7’s and marta_walks1999",
        "谢谢\u4e07\u5e07先生",
        "с Перолистой",
    ]
    assert NameBook(crowd).clean(pa.array(texts)).to_pylist() == ["ask or somebody2000", "and", "谢谢", "с"]


def test_every_text_keeps_its_row() -> None:
    """Rows are found in several ways, one after the other; a text must not land in the row of another."""
    book = NameBook([fold_name(name) for name in ("quill_77", "羽毛笔先生", "Marta Walks")])
    texts = [
        "𝗠𝗮𝗿𝘁𝗮 𝗪𝗮𝗹𝗸𝘀 first",
        "nobody",
        "谢谢羽毛笔先生",
        "谢谢quill_77的",
        "quill_77 last",
        "ｆｕｌｌ width",
    ]
    assert book.clean(pa.array(texts)).to_pylist() == [
        "first",
        "nobody",
        "谢谢",
        "谢谢的",
        "last",
        "ｆｕｌｌ width",
    ]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("羽毛笔先生", "谢谢羽毛笔先生的视频", "谢谢的视频"),
        ("Quillfeather", "quillfeatherさんすごい", "さんすごい"),
        ("Перолист", "вместе с Перолистом", "вместе с"),
        ("Лена Рябинкина", "передайте Лене Рябинкиной", "передайте"),
        ("Ярик Лисовенко", "Ярик лисовенко красава", "красава"),
        ("Зуля", "зуля спасибо", "спасибо"),
        ("BO Vlogs", "bo vlogs was first", "was first"),
        ("ひろき Vlog", "最後のひろき VLOGの笑い方", "最後のの笑い方"),
        ("阿柚", "阿柚的声音", "的声音"),
        ("Marta Walks", "M a r t a W a l k s was here", "was here"),
        ("Marta Walks", "𝗠𝗮𝗿𝘁𝗮 𝗪𝗮𝗹𝗸𝘀 was here", "was here"),
        ("Sunny", "what a sunny day", "what a sunny day"),
        ("하늘", "오늘 하늘 진짜 예쁘다", "오늘 하늘 진짜 예쁘다"),
        ("Mark", "mark my words", "mark my words"),
        ("Victoria", "qué victoria tan épica", "qué victoria tan épica"),
        ("Tomás Plumarén", "gracias tomas plumaren", "gracias"),
        ("Tomas Plumaren", "con Tomás Plumarén", "con"),
        ("Семён Перолистов", "видел Семена Перолистова", "видел"),
        ("Canción", "esta canción y esta cancion", "esta canción y esta cancion"),
        ("Sunshine", "you are my sunshine, hello sunshine", "you are my sunshine, hello sunshine"),
        ("Sunshine", "Thanks Sunshine!", "Thanks !"),
        ("Sunshine", "Hello Sunshine State fans", "Hello Sunshine State fans"),
    ],
)
def test_names_leave_in_every_form_and_words_stay(name: str, text: str, expected: str) -> None:
    assert NameBook([fold_name(name)]).clean(pa.array([text])).to_pylist() == [expected]
