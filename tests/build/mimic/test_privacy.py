"""Personal data leave texts in all forms that people use, and clean texts stay as they are."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

from tests.support.mimic_build_kit import Words
from vivant.benchmarks.mimic.format import iter_items
from vivant.build.mimic.cleaning import clean
from vivant.build.mimic.ingestion import ingest
from vivant.build.mimic.ingestion.name_forms import fold_name
from vivant.build.mimic.ingestion.people import NameBook
from vivant.build.mimic.ingestion.personal_data import find_contacts, find_suspects, list_gates
from vivant.build.mimic.ingestion.phone_numbers import is_phone_number
from vivant.build.mimic.ingestion.privacy import Anonymiser
from vivant.build.mimic.ingestion.privacy_audit import audit_privacy, is_masked, read_planted_set
from vivant.build.mimic.ingestion.text_forms import ENTITY, INVISIBLE, clean_text, fold_text
from vivant.build.mimic.selection import select_videos
from vivant.build.mimic.settings import IngestSettings, PipelineSettings, SelectSettings
from vivant.build.mimic.split import split_videos
from vivant.build.mimic.tasks import make_tasks
from vivant.build.mimic.world import WorldPlan
from vivant.build.mimic.world.crawl import write_crawl

ALONE = PipelineSettings(workers=1)


def read_texts(work: Path) -> dict[str, str]:
    return dict(pl.read_parquet(work / "ingest" / "comments" / "*.parquet").select("id", "text").iter_rows())


def test_planted_data_are_masked_and_clean_texts_left_alone() -> None:
    report = audit_privacy(IngestSettings())
    assert len(report.languages) == 6 and len(report.planted) == 8
    assert {kind: share for kind, share in report.masked.items() if share < 0.99} == {}, report.examples
    assert {name: share for name, share in report.languages.items() if share < 0.99} == {}, report.examples
    assert report.touched <= 0.005, report.examples
    assert report.clean_texts > 500 and sum(report.planted.values()) > 2000


@pytest.mark.parametrize(
    ("value", "text", "after", "masked"),
    [
        ("bread_with_quillo", "IG: bread_with_quillo, mostly bread", ", mostly bread", True),
        ("bread_with_quillo", "IG: bread_with_quillo, mostly bread", "bread, mostly bread", False),
        ("48.85837, 2.29448", "at 48.85837, 2.29448", "at", True),
    ],
)
def test_words_beside_a_planted_value_do_not_count(value: str, text: str, after: str, masked: bool) -> None:
    assert is_masked(value, after, text) is masked


def test_the_audit_sees_what_settings_leave_in() -> None:
    kept = audit_privacy(IngestSettings(links="keep"))
    assert "telephone number" in kept.kept and list(kept.planted) == ["mention"]
    report = audit_privacy(IngestSettings(), ["call 202-555-0143", "nothing here", "so good", "yes"])
    assert (report.texts, report.held) == (4, 0.25)


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
    assert Anonymiser(b"s" * 32).texts([written]).to_pylist() == [expected]


@pytest.mark.slow
def test_no_option_holds_an_entity_or_an_invisible_character(tmp_path: Path) -> None:
    """Every text of the crawl has both, as scrapers leave them: each task's options come from other fields."""

    def spoil(text: str) -> str:
        return f"\u200b{text} &amp;amp; co\ufeff"

    crawl, work = tmp_path / "crawl", tmp_path / "work"
    write_crawl(crawl, WorldPlan(videos=250, comments=25_000, seed=4), broken=0)
    for path in crawl.rglob("*.info.json"):
        info = json.loads(path.read_bytes())
        info |= {name: spoil(info[name] or "") for name in ("title", "description")}
        info |= {name: [spoil(text) for text in info[name]] for name in ("tags", "categories", "topics")}
        for comment in info["comments"]:
            comment["text"] = spoil(comment["text"])
        path.write_text(json.dumps(info), encoding="utf-8")
    chosen = PipelineSettings(workers=1, select=SelectSettings(target=16, top={"*": 0.5}))
    ingest(work, [crawl], chosen)
    clean(work, chosen)
    select_videos(work, chosen)
    split_videos(work, chosen)
    make_tasks(work, chosen, encoder=Words())
    items = [item for _, item in iter_items(work / "tasks")]
    assert {item.task for item in items} == set(chosen.tasks.tasks)
    texts = [option.text for item in items for option in item.options]
    assert [text for text in texts if re.search(f"[{INVISIBLE}]|{ENTITY}", text)] == []
    assert sum("& co" in text for text in texts) > len(texts) / 2


def test_only_what_is_found_is_cut_from_full_width_text() -> None:
    text = "すごい！＠ｑｕｉｌｌ さん、０９０－１２３４－５６７８ へ！"
    assert Anonymiser(b"s" * 32).text(text) == "すごい！ さん、 へ！"


def test_text_goes_on_behind_a_link_where_people_write_no_spaces() -> None:
    hidden = Anonymiser(b"s" * 32)
    assert hidden.text("考察はこれ。https://example.com/quill/n4c映画も見た。") == "考察はこれ。映画も見た。"
    assert hidden.text("TikTokの顔、quillpage.com/aへどうぞ") == "TikTokの顔、へどうぞ"


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
    assert Anonymiser(b"s" * 32).texts([text]).to_pylist() == [text]


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
    (cleaned,) = Anonymiser(b"s" * 32).texts([text]).to_pylist()
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


def test_an_api_answer_loses_the_names_it_brings(tmp_path: Path) -> None:
    def comment(name: str, author: str, text: str) -> dict[str, Any]:
        snippet = {"videoId": "v1", "textOriginal": text, "authorDisplayName": author, "likeCount": 1}
        return {"kind": "youtube#comment", "id": name, "snippet": snippet}

    video = {
        "title": "MARTA WALKS to the sea",
        "description": "by marta walks",
        "channelTitle": "Marta Walks",
    }
    items = [
        {"kind": "youtube#video", "id": "v1", "snippet": video},
        comment("c1", "@quill_77", "thank you, marta walks"),
        comment("c2", "Otto Kranich", "Quill_77 is right"),
        comment("c3", "someone", "as OTTO KRANICH said, I love it"),
    ]
    (tmp_path / "answer.json").write_text(json.dumps({"items": items}))
    ingest(tmp_path / "work", [tmp_path / "answer.json"], ALONE)
    assert read_texts(tmp_path / "work") == {
        "c1": "thank you,",
        "c2": "is right",
        "c3": "as said, I love it",
    }
    row = pl.read_parquet(tmp_path / "work" / "ingest" / "videos" / "*.parquet").row(0, named=True)
    assert (row["title"], row["description"]) == ("to the sea", "by")
    assert not list((tmp_path / "work").rglob("*.names"))


def test_a_table_loses_the_names_it_brings(tmp_path: Path) -> None:
    with (tmp_path / "videos.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["vid", "name", "who"], ["1", "Sea by MARTA WALKS", "Marta Walks"]])
    lines = [
        {"v": "1", "n": "a", "t": "marta walks rocks", "by": "Otto Kranich"},
        {"v": "1", "n": "b", "t": "hi otto kranich &amp; all\u200b", "by": "x"},
    ]
    (tmp_path / "comments.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (tmp_path / "map.yaml").write_text(
        "videos:\n  file: videos.csv\n  columns: {platform: {value: vimeo}, id: vid, title: name, uploader: who}\n"
        "comments:\n  file: comments.jsonl\n  columns: {video: v, id: n, text: t, author: by}\n"
    )
    ingest(tmp_path / "work", [tmp_path / "map.yaml"], ALONE)
    assert read_texts(tmp_path / "work") == {"a": "rocks", "b": "hi & all"}
    assert pl.read_parquet(tmp_path / "work" / "ingest" / "videos" / "*.parquet")["title"].to_list() == [
        "Sea by"
    ]


def test_a_name_that_everybody_uses_is_a_word(tmp_path: Path) -> None:
    """Under five people's videos 羽毛糖 and zuckrig are words; under one person's own, перолистка is a name."""

    def record(number: int, uploader: str, texts: list[str]) -> dict[str, Any]:
        comments = [{"id": f"{number}-{n}", "text": text, "author": "x"} for n, text in enumerate(texts)]
        return {
            "id": f"v{number}", "extractor_key": "Youtube", "title": "Sea", "uploader": uploader, "comments": comments,
        }  # fmt: skip

    records = [
        record(n, f"Somebody Else {n}", [f"我买了羽毛糖{n}个", f"so zuckrig, {n} times"]) for n in range(5)
    ]
    records += [record(10 + n, "Owner", [f"перолистка молодец {n}", "same"]) for n in range(6)]
    authors = ("羽毛糖", "Zuckrig", "Перолистка")
    records[0]["comments"] += [{"id": name, "text": "перолистка, hi", "author": name} for name in authors]
    for item in records:
        (tmp_path / f"{item['id']}.info.json").write_text(json.dumps(item))
    ingest(tmp_path / "work", [tmp_path], ALONE)
    texts = read_texts(tmp_path / "work")
    assert texts["0-0"] == "我买了羽毛糖0个" and texts["4-1"] == "so zuckrig, 4 times"
    assert texts["羽毛糖"] == ", hi" and texts["15-0"] == "молодец 5"


def test_names_stay_where_mentions_are_kept(tmp_path: Path) -> None:
    comments = [{"id": "1", "text": "thanks @quill_77", "author": "@quill_77"}]
    record = {"id": "v", "extractor_key": "Youtube", "title": "Sea", "uploader": "M", "comments": comments}
    (tmp_path / "v.info.json").write_text(json.dumps(record))
    kept = PipelineSettings(workers=1, ingest=IngestSettings(mentions="keep"))
    ingest(tmp_path / "work", [tmp_path / "v.info.json"], kept)
    assert read_texts(tmp_path / "work") == {"1": "thanks @quill_77"}


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
    (cleaned,) = Anonymiser(b"s" * 32).texts([text]).to_pylist()
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
    assert Anonymiser(b"s" * 32).texts([text]).to_pylist() == [expected]
