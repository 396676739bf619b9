"""Personal data leave texts in all forms that people use, and clean texts stay as they are."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pytest

from vivant.core.errors import UsageError
from vivant_build.privacy import Anonymizer, remove_names
from vivant_build.privacy.audit import read_planted_set
from vivant_build.privacy.personal_data import find_contacts, find_suspects, list_gates
from vivant_build.privacy.phone_numbers import is_phone_number
from vivant_build.privacy.text_forms import clean_text, fold_text


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("Tom &amp; Jerry &#39;s &amp;quot;best&amp;quot;", 'Tom & Jerry \'s "best"'),
        ("in\u200bvi\u2060si\ufeffble\u00ad", "invisible"),
        ("\u202ereversed\u202c", "reversed"),
        ("👨\u200d👩\u200d👧 stays", "👨\u200d👩\u200d👧 stays"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("a\u200db", "ab"),
        ("one<br>two &lt;3", "one\ntwo <3"),
        ("AT&T; R&D & co", "AT&T; R&D & co"),
        ("全角！ stays ｗｉｄｅ", "全角！ stays ｗｉｄｅ"),
    ],
)
def test_entities_and_invisible_characters_leave(written: str, expected: str) -> None:
    assert clean_text(written) == expected
    assert Anonymizer(b"s" * 32).mask_texts([written]).to_pylist() == [expected]


def test_only_what_is_found_is_cut_from_full_width_text() -> None:
    text = "すごい！＠ｑｕｉｌｌ さん、０９０－１２３４－５６７８ へ！"
    assert Anonymizer(b"s" * 32).mask_text(text) == "すごい！ さん、 へ！"


def test_text_goes_on_behind_a_link_where_people_write_no_spaces() -> None:
    hidden = Anonymizer(b"s" * 32)
    assert (
        hidden.mask_text("考察はこれ。https://example.com/quill/n4c映画も見た。")
        == "考察はこれ。映画も見た。"
    )
    assert hidden.mask_text("TikTokの顔、quillpage.com/aへどうぞ") == "TikTokの顔、へどうぞ"


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("2025550143", True),
        ("07700 900123", True),
        ("13812345678", True),
        ("4111 1111 1111 1111", True),
        ("1 000 000 000", False),
        ("2019 2020 2021", False),
        ("2024-01-15", False),
        ("1234567", False),
        ("1 2 3 4 5 6 7 8 9", False),
    ],
)
def test_numbers_to_call_are_told_from_counts(written: str, expected: bool) -> None:
    assert is_phone_number(written) is expected


@pytest.mark.parametrize(
    "text",
    [
        "this is New York, I love it",
        "it's raining men",
        "insta worthy, snap out of it",
        "21 Jump Street was better",
        "I was born in 1999",
        "IMG_0493.MOV is the file",
        "me at 3 am: 2147483647 views",
        "ISBN 0-19-852663-6, page 40",
        "ver.2.1.0で直った",
        "土曜は朝6時＠駅前集合",
        "门票@晚上7点开抢",
        "8K24 on youtube lol",
        "great clip . by the way",
        "온라인 게임 최고, 라인업 미쳤다",
        "me encanta instagram",
        "they would pay for him at this point in the window",
        "the complex of mar-a-lago. Was it closed",
        "I love Luis Diaz so much",
        "the switch version runs at 30fps",
        "my coach sings like Freddie Aguilar",
        "Symphony No. 9, Op. 125, K. 331",
        "ich bin Fan der ersten Stunde",
        "mid-season2 was fine",
        "on twitter as always people fight",
        "それなwww。4000円だった",
    ],
)
def test_texts_that_mislead_stay(text: str) -> None:
    assert Anonymizer(b"s" * 32).mask_texts([text]).to_pylist() == [text]


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("外婆还住在银杏路285号，天天烤面包", "银杏路285"),
        ("할아버지 창고 은샘로59길 18 8층", "은샘로59길"),
        ("salida: Avenida Los Almendros #96 a las ocho", "Almendros"),
        ("餃子はゼロ ハチ ゼロ イチ ロク ロク キュウ イチ ゴ ヨン ヨンへ", "ロク"),
        ("こんにちは！木村智也です", "木村"),
        ("문다은라고 합니다. 피아노 가르쳐요", "문다은"),
        ("gracias por ver, Leandro Iturbe", "Iturbe"),
        ("👻gaeunnncomet", "gaeunnn"),
        ("我1987年10月15日生的，妈妈就做这种汤", "1987"),
        ("др 02.12.1981, подарки принимаю", "1981"),
        ("(original idea: \u202eyrekaboxrepsak@\u202c)", "yrekabox"),
        ("мы из класса в гимназии №1183", "1183"),
        ("my teacher Mrs Quillfeather showed this", "Quillfeather"),
        ("te extraño Ramón Urdaneta, descansa hermano", "Urdaneta"),
        ("my daughter is in year 4 at SK Taman Kenari", "Kenari"),
        ("letter for santa: from Via dei Liutai 79 lol", "Liutai"),
        ("거래 장소: 여울마을 529동 9115호", "9115"),
        ("我家地址台北市大安區和平東路二段107巷9號4樓", "107"),
        ("координаты дачи lat 56.71840 lon 38.45612", "56.71840"),
        ("gol gris PS 503 NT cruzó en rojo", "503"),
        ("[id268530|Перолист], а её уже заставили?", "Перолист"),
        ("свадебные фото quilljig . by только для своих", "quilljig"),
        ("이상한 팝업 quillquartz . co . kr 누르지 마", "quillquartz"),
        ("自习室quilloq-surf.club/v", "quilloq"),
        ("me cambié a 👻zhequillchess gracias", "zhequill"),
        ("カメラ：@ quillamends", "quillamends"),
        ("bin in der 7c am Federkiel-Gymnasium Quillau, wer noch", "Quillau"),
        ("i go to quillwood high btw", "quillwood"),
        ("打我电话 138-1234-5678 秒回", "1234"),
        ("三浦ここなです！よろしく", "三浦"),
        ("私の名前は堤正一郎です", "堤正"),
        ("우리 동네 사는 문다은이에요", "문다은"),
        ("我叫羽明轩，今年十二岁", "羽明轩"),
        ("привет от Маши Перолистовой", "Перолистовой"),
        ("я Перолистов Иван из школы", "Перолистов"),
        ("geb am 5.6.2009, wer noch", "2009"),
        ("my plate is QLL 7F3 if anyone saw it", "7F3"),
        ("Discord Q u i l l o # 3 9 9 5, hablamos", "3 9 9 5"),
        ("we meet at Quillwood Lane 12 on sunday", "Quillwood"),
        ("аирдроп на UQ7IJHnRgk4Pl8KjQZme3TYMmM27jsG0PMQKnx1O3apFj7I8", "UQ7IJH"),
    ],
)
def test_a_column_is_searched_for_all_that_a_single_text_would_lose(text: str, secret: str) -> None:
    """A quick look at the whole column decides which texts are read: it must let none of these go."""
    (cleaned,) = Anonymizer(b"s" * 32).mask_texts([text]).to_pylist()
    assert secret not in cleaned


def test_a_column_loses_nothing_that_single_texts_show() -> None:
    """Of the planted forms in all sentences, in plain and in spread letters."""
    planted = read_planted_set()
    texts = [
        sentences[0].replace("{}", form)
        for forms in planted.planted.values()
        for form in (*forms, *(" ".join(text) for text in forms if len(text) < 16))
        for sentences in planted.sentences.values()
    ]
    shadows = [fold_text(clean_text(text))[0] for text in texts]
    suspect = find_suspects(pa.array(texts))[0].to_pylist()
    lost = [
        text
        for text, spans, seen in zip(texts, find_contacts(shadows), suspect, strict=True)
        if spans and not seen
    ]
    assert lost == [] and sum(suspect) > len(texts) / 2


def test_the_search_keeps_its_expressions_compiled() -> None:
    """Polars keeps 32: with more of them, each is compiled again for each column."""
    gates = list_gates()
    preconditions = {gate.precondition for gate in gates} - {""}
    assert len(gates) + len(preconditions) + 1 <= 32


@pytest.mark.parametrize(
    "text",
    [
        "psn/xbl Quillo.drift",
        "insta (real one): bloomquillo",
        "in$ta 👉 bloomquillo",
        "i n s t a : bloomquillo",
        "bloomquillo is my discord",
        "same on insta and tiktok, bloomquillo",
        "my steam is bloomquillo",
        "búscame en face como bloomquillo",
        "bloomquillo — мой тг",
        "авито bloomQuillo продаю там",
        "카톡아디 bloomquillo 보내줘",
        "ㅋㅌ bloomquillo",
        "楽天ラクマ bloomquillo で出品中",
        "youtube被封了，去ins找b l o o m q u i l l o",
        "v❤ｂｌｏｏｍ．ｑｕｉｌｌｏ．＿ｘ，看图",
    ],
)
def test_accounts_leave_beside_services_of_all_languages(text: str) -> None:
    (cleaned,) = Anonymizer(b"s" * 32).mask_texts([text]).to_pylist()
    plain = re.sub(r"\W", "", fold_text(cleaned)[0]).lower()
    assert "quillo" not in plain


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("disc - quillfeather (pc only)", "(pc only)"),
        ("disc - great job", "disc - great job"),
        ("line：QuillFeather，香港的朋友", "，香港的朋友"),
        ("the best line: quillfeather", "the best line: quillfeather"),
        ("tt - kdrama edits", "tt - kdrama edits"),
    ],
)
def test_short_names_of_services_need_a_sign(text: str, expected: str) -> None:
    assert Anonymizer(b"s" * 32).mask_texts([text]).to_pylist() == [expected]


def test_mentions_may_be_hashed_or_kept() -> None:
    hashed = Anonymizer(b"s" * 32, mentions="hash")
    once, again = hashed.mask_text("@Anna hi"), hashed.mask_text("hello @anna")
    assert once.split()[0] == again.split()[1] != "@anna"
    assert len(once.split()[0]) == 7
    kept = Anonymizer(b"s" * 32, mentions="keep", links="keep")
    assert kept.mask_text("@anna https://example.com") == "@anna https://example.com"
    assert remove_names(["Anna and Annapolis, ANNA"], ["Anna"]) == ["and Annapolis,"]
    assert remove_names(["Ana"], ["Ana"]) == ["Ana"]


@pytest.mark.parametrize("modes", [{"mentions": "Remove"}, {"links": "mask"}, {"links": "hash"}])
def test_an_unknown_mode_is_refused_before_a_text_is_read(modes: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"Unknown mode of (mentions|links) '.+'; "):
        Anonymizer(b"s" * 32, **modes)
