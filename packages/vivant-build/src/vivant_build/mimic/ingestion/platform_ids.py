"""Ids as platforms write them: numbers that stand for public ids or categories, and files named after videos."""

from __future__ import annotations

import json
import lzma
import os
import re

YOUTUBE_CATEGORIES = {
    "1": "Film & Animation", "2": "Autos & Vehicles", "10": "Music", "15": "Pets & Animals", "17": "Sports",
    "18": "Short Movies", "19": "Travel & Events", "20": "Gaming", "21": "Videoblogging", "22": "People & Blogs",
    "23": "Comedy", "24": "Entertainment", "25": "News & Politics", "26": "Howto & Style", "27": "Education",
    "28": "Science & Technology", "29": "Nonprofits & Activism",
}  # fmt: skip
_BVID_LETTERS = "FcwAPNKTMug3GV5Lj7EJnHpWsx4tb8haYeviqBz6rkCy12mUSDQX9RdoZf"
_SHORTCODE_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
_FILE_IDS = {
    "tiktok": r"\d{15,20}",
    "douyin": r"\d{15,20}",
    "youtube": r"[\w-]{11}",
    "instagram": r"[A-Za-z0-9_-]{10,12}",
    "bilibili": r"BV\w{10}",
}
_COMMENTS = re.compile(
    r"^(?:comments?|repl(?:y|ies))[._-]+|[._-]+(?:comments?|repl(?:y|ies))$", re.IGNORECASE
)
_DATA_TOOLS = re.compile(
    r"^videoinfo_(?:UC[\w-]{22}_)?(?P<id>[\w-]{11})(?:_\d{4}_\d\d_\d\d-\d\d_\d\d_\d\d)?_comments$"
)
"""As YouTube Data Tools names its files: [the channel and] the video, and when it was asked."""


def normalise_id(platform: str, name: str) -> str:
    """The public id of a video: Bilibili and Instagram have a number for each as well."""
    if platform == "bilibili" and name.removeprefix("av").isdecimal():
        return make_bvid(int(name.removeprefix("av")))
    if platform == "instagram" and re.fullmatch(r"\d{16,20}(_\d+)?", name):
        return make_shortcode(int(name.partition("_")[0]))
    return name


def find_id_in_name(platform: str, stem: str) -> str:
    """The id of the video that a file of comments is named after: `ID`, `ID_comments`, `comments-ID`; or nothing."""
    if platform == "youtube" and (named := _DATA_TOOLS.match(stem)):
        return named["id"]
    name = _COMMENTS.sub("", stem)
    return name if re.fullmatch(_FILE_IDS.get(platform, r"(?!)"), name) else ""


def read_post_id(folder: str, stem: str) -> str:
    """The id of the post whose comments a file of instaloader holds: TIME_comments.json is beside TIME.json.xz."""
    time = stem.removesuffix("_comments")
    for name in (f"{time}.json.xz", f"{time}.json") if time != stem else ():
        try:
            with (lzma.open if name.endswith(".xz") else open)(f"{folder}{os.sep}{name}", "rb") as file:
                return str(json.loads(file.read())["node"]["shortcode"])
        except (OSError, EOFError, lzma.LZMAError, ValueError, LookupError, TypeError):
            continue  # the post's own file is set aside with the reason
    return ""


def make_bvid(number: int) -> str:
    """Bilibili's public id of the video with a number: av170001 is BV17x411w7KC."""
    rest = (1 << 51 | number) ^ 23442827791579
    letters = list("BV1000000000")
    for index in range(11, 2, -1):
        rest, digit = divmod(rest, 58)
        letters[index] = _BVID_LETTERS[digit]
    letters[3], letters[9] = letters[9], letters[3]
    letters[4], letters[7] = letters[7], letters[4]
    return "".join(letters)


def make_shortcode(number: int) -> str:
    """Instagram's public id of the post with a number: 482584233761418119 is aye83DjauH."""
    letters = ""
    while number:
        number, digit = divmod(number, 64)
        letters = _SHORTCODE_LETTERS[digit] + letters
    return letters
