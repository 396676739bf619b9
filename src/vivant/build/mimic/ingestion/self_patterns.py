"""What people tell of themselves: their name, birthday and school, in the words with which each language does so."""

from __future__ import annotations

import re

from vivant.build.mimic.ingestion.contact_patterns import ASCII, make_pattern
from vivant.build.mimic.ingestion.word_lists import is_ordinary, is_word, load_given_names

_CAPITAL = "A-ZÄÖÜÁÉÍÓÚÑÅØÇŁŚŻČŠŽА-ЯЁ"
_SURNAME = re.compile(
    r"(?:ов|ев|ёв|ин|ын|ова|ева|ёва|ина|ына|ский|ская|цкий|цкая|ской|енко|ко|ук|юк|чук|ич|ян|швили|дзе|ец|ак|як)$"
)
_CHINESE = (
    "王李张張刘劉陈陳杨楊赵趙黄黃周吴吳徐孙孫胡朱高林何郭马馬罗羅梁宋郑鄭谢謝韩韓唐冯馮于董萧程曹袁邓鄧许許傅沈曾彭吕呂苏蘇卢盧蒋蔣蔡贾丁魏薛叶葉"
    "阎余潘杜戴夏钟汪田任姜范方石姚谭廖邹熊金陆郝孔白崔康毛邱秦江史顾侯邵孟龙万段雷钱汤尹黎易常武乔贺赖龚文庞樊兰殷施陶洪翟安颜倪严牛温芦季俞章鲁葛伍韦申尤毕聂丛焦向柳邢路岳齐梅"
    "莫庄辛管祝左涂谷祁时舒耿牟卜路詹关苗凌费纪靳盛童欧甄项曲成游阳裴席卫查屈鲍位覃霍翁隋植甘景薄单包司柏宁柯阮桂闵欧阳解强柴华车冉房边"
)
_JAPANESE = (
    "佐藤|鈴木|高橋|田中|伊藤|渡辺|渡邊|山本|中村|小林|加藤|吉田|山田|佐々木|山口|松本|井上|木村|林|斎藤|斉藤|清水|山崎|森|池田|橋本|阿部|石川|山下|中島|石井|小川|前田|岡田|長谷川|藤田|後藤|近藤|"
    "村上|遠藤|青木|坂本|福田|太田|西村|藤井|金子|岡本|藤原|三浦|中野|中川|原田|松田|竹内|小野|田村|中山|和田|石田|森田|上田|原|内田|柴田|酒井|宮崎|横山|高木|安藤|宮本|大野|小島|谷口|今井|工藤|"
    "高田|増田|丸山|杉山|村田|大塚|新井|小山|平野|藤本|河野|上野|野口|武田|松井|千葉|菅原|岩崎|久保|木下|佐野|野村|松尾|菊地|菊池|杉本|市川|古川|大西|島田|水野|桜井|高野|渡部|吉川|山内|西田|飯田|"
    "西川|小松|北村|安田|五十嵐|川口|平田|関|中田|久保田|東|服部|川崎|岩田|土屋|福島|本田|辻|樋口|秋山|田口|永井|山中|中西|吉村|川上|石原|大橋|松岡|馬場|浜田|森本|星野|矢野|浅野|大久保|吉岡|小池|野田|荒木|大谷|松浦|熊谷|黒田|尾崎|望月"
)
_LONG_JAPANESE = "|".join(name for name in _JAPANESE.split("|") if len(name) > 1)
_KOREAN = "김이박최정강조윤장임한오서신권황안송전홍유고문양손배백허남심노하곽성차주우구민류나진지엄채원천방공현함변염여추도소석선설마길연위표명기반왕금옥육인맹제모탁국어은편용예봉"
_KOREAN_NAME = (
    "(?!공무원|한국인|유학생|유튜버|선생님|전문가|신입생|구독자|여자친|남자친|남자들|여자들|이사람|기획자|주인공|이번주|오늘도|이제는|우리집|정말로|진짜로|지금은|지금도|"
    f"고등학|중학생|초등학|하루종|이거는|나이는|우리나|여기가|여기는|오늘은|이상한|전라도|강원도|경상도|주부입|성인입|인천사|안산사|기독교|천주교|이과생|문과생)[{_KOREAN}][가-힣]{{2}}(?<![생팬람])"
)
_KANJI_NAME = rf"(?:{_JAPANESE})[ 　]?(?!さん|様|君|くん|ちゃん)[\u4e00-\u9fff\u3040-\u30ff]{{1,3}}?"
_PAIR = rf"(?-i:(?P<name>[{_CAPITAL}][\w'’\-]+(?:\s(?:de|del|van|von|der|la|bin|al|da|dos))?(?:\s[{_CAPITAL}][\w'’\-.]+){{1,3}}))"
_WORD_NAME = (
    r"(?P<name>(?!not\b|what\b|who\b|the\b|a\b|an\b|nicht\b|no\b|не\b|как\b|und\b|jetzt\b|in\b|on\b|so\b)"
    rf"[^\W\d_][\w'’\-]+(?:\s(?-i:[{_CAPITAL}])[\w'’\-.]+){{0,3}})"
)


def _is_name(match: re.Match[str]) -> bool:
    """Whether the words after `my name is` are a name: written with capitals, a known first name, or no word."""
    words = match["name"].split()
    if match.group().isupper():  # the whole text shouts
        return not is_ordinary(words[0])
    return all(word[0].isupper() for word in words) or not is_ordinary(words[0])


def _is_full_name(match: re.Match[str]) -> bool:
    """Whether words with capitals after `I am` are a name: one of them is a first name or no word."""
    words = [word.strip(".,'’").lower() for word in match["name"].split()]
    if words[0] in load_given_names():
        return True
    if re.search("[а-яё]", words[0]):
        return not is_word(words[0]) and _SURNAME.search(words[-1]) is not None
    return not all(map(is_word, words))


def _is_first_name(match: re.Match[str]) -> bool:
    """Whether one word with a capital after `I am` is a first name."""
    name = match["name"].lower()
    return name in load_given_names() or (name.isascii() and not is_word(name))


_MONTH = (
    r"(?:jan|feb|mar|m[äa]r|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz]|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|"
    r"noviembre|diciembre|январ|феврал|март|апрел|ма[яй]|июн|июл|август|сентябр|октябр|ноябр|декабр)[a-zäа-я]*\.?"
)
_DATE = (
    rf"(?:\d{{1,2}}(?:st|nd|rd|th|\.|-го|º)?\s*(?:of|de|del)?\s*{_MONTH}(?:,?\s*(?:of|de|del)?\s*'?\d{{2,4}})?(?:\s*(?:г|года?)\.?)?"
    rf"|{_MONTH}\s*\d{{1,2}}(?:st|nd|rd|th)?(?:\s*,?\s*'?\d{{2,4}})?"
    r"|\d{1,4}\s*[./\-年년]\s*\d{1,2}\s*(?:[./\-月월]\s*\d{1,4}\s*[日일]?号?生?)?"
    r"|\d{1,2}[月월]\s*\d{1,2}[日号일]?|(?:19|20)\d{6}|\d{6}(?!\d))"
)
_BIRTH = (
    r"(?:born(?: on| in)?|(?<!\w)d\.?\s?o\.?\s?b\.?|date of birth|birth ?date|birthday(?: is|'s)?(?: on)?|b-?day(?: is)?(?: on)?|geboren(?: am)?|(?<!\w)geb\.?|"
    r"geburts(?:tag|datum)(?: ist)?(?: am)?|nac[ií](?:do|da)?(?: el)?|fecha de nacimiento(?: es)?|cumplea[ñn]os(?: es)?(?: el)?|cumple(?: es)?(?: el)|cumplo(?: a[ñn]os)?(?: el)?|"
    r"родил(?:ся|ась)|дата рождения|день рождения|днюха|(?<!\w)д\.?р\.?(?!\w)|生日是?|出生(?:日期|于|於)?是?|生于|誕生日は?|生年月日は?|생년월일은?|생일은?)"
)


def _is_recent(match: re.Match[str]) -> bool:
    """Whether a birthday can be that of somebody who writes comments."""
    years = [int(year) for year in re.findall(r"(?<!\d)1[0-9]\d\d(?!\d)", match.group())]
    return not years or min(years) >= 1920


SAID = (
    make_pattern(
        ("name", "i'm called", "call me", "ich heiße", "ich heisse", "me llamo", "nombre", "llám", "зовут", "имя", "nenn"),
        r"(?<!\w)(?:my (?:real |full |actual |legal )?name(?: is|'s|’s|:)|(?:real|full|legal) name(?: is|:)|i'?m called|you can call me|ich hei(?:ß|ss)e|mein (?:echter |richtiger |voller )?name(?: ist|:)|nennt mich|"
        r"me llamo|mi nombre(?: real| completo)? es|ll[aá]m[ae]n?me|nombre(?: completo| real)?:|меня зовут|зовут меня|мо[её] (?:полное |настоящее )?имя(?: -)?|имя:|"
        rf"(?:^|[\n])\s*name:)\s*:?\s*{_WORD_NAME}",
        _is_name,
    ),
    make_pattern(
        ("i'm", "i’m", "im ", "i am", "this is", "call me", "sincerely", "regards", "yours", "signed", "ich bin", "hier ist", "grüße", "gruß", "mfg", "lg", "soy", "aquí", "atentamente", "saludos", "firmado",
         "habla", "я", "это", "уважением", "我是", "我叫", "本人", "真名", "本名", "私は", "僕は", "俺は", "저는", "제 이름", "본명", "here", "name is", "cheers", "thank", "gracias", "danke", "спасибо", "пишет", "фамилия", "saluda", "escribe", "love,", "att", "이름", "名前"),
        r"(?<!\w)(?:i'm|i’m|im|i am|this is|call me|sincerely,?|(?:kind |best |warm )?regards,?|yours(?: truly)?,?|signed,?|cheers,|love,|ich bin(?: der| die)?|hier ist(?: der| die)?|(?:viele |liebe )?grüße,?(?: von)?|gruß,?|mfg,?|lg,?|"
        r"soy|aquí|atentamente,?|att\.?,?|saludos,?(?: de)?|firmado,?|(?:les|te|os) (?:habla|saluda|escribe)|пишет|ваша?|(?:моя )?фамилия:?|(?:many )?thanks,|thank you,|gracias,|danke,|спасибо,|я|это|с уважением,?|我是|我叫|本人|真名|本名|私は|僕は|俺は|名前は|저는|제 이름은|본명은|이름은)"
        rf"[\s:,\-–]*{_PAIR}",
        _is_full_name,
    ),
    make_pattern(
        ("i'm", "i’m", "i am", "soy", "ich bin", "я "),
        r"(?<!\w)(?:i'm|i’m|i am|(?:hola,? |yo )soy|ich bin(?: der| die)?|я)\s+(?-i:(?P<name>[A-ZÄÖÜÁÉÍÓÚÑА-ЯЁ][a-zäöüßáéíóúñа-яё]{2,}))(?=\s*(?:$|[,.!?\n\U0001f300-\U0001faff]|and|from|und|aus|y|de|и|из|here))",
        _is_first_name,
    ),
    make_pattern("here", rf"(?:^|[\n.!,]\s*){_PAIR}(?=\s+(?:here|from \w+ here)(?!\w))", _is_full_name),
    make_pattern("зовут", r"(?<!\w)меня\s+(?-i:[А-ЯЁ])[а-яё]+(?=\s+зовут)|(?<!\w)зовут\s+(?-i:[А-ЯЁ])[а-яё]+(?:\s+(?-i:[А-ЯЁ])[а-яё]+)?"),
    make_pattern(
        ("我叫", "我是", "本人", "真名", "名字", "本名", "姓名", "叫我", "在下", "免贵"),
        rf"(?:我叫|我是|本人|真名(?:是|叫)?|我的?名字[是叫]?|本名[是叫:]?|姓名[是:]?|叫我|在下|免贵姓)\s*:?\s*(?P<name>[{_CHINESE}][\u4e00-\u9fff]{{1,2}})(?<![人生座迷粉的族家党者员师民国])"
        rf"(?=$|[\s,.，。!！?？、~～:：]|来自|今年|住|是|和|我|不是|[{ASCII}\U0001f300-\U0001faff])",
    ),
    make_pattern(
        ("名前は", "本名", "氏名", "申します", "いいます", "言います", "です", "私は", "僕は", "俺は"),
        rf"(?:^|[\n])(?:{_LONG_JAPANESE})[ 　]?[\u4e00-\u9fff]{{1,3}}(?=です|と申|といい|って言|っていい)|(?:名前は|本名は?|氏名は?|私は|僕は|俺は|うちは|わたしは|ぼくは|(?:こんにちは|こんばんは|はじめまして|初めまして|どうも|おはよう|ども)[!、。〜~\s]*)\s*:?(?:{_KANJI_NAME})(?=です|だよ|だ\.|っていい|って言|と申|とい|と言|、|,|\.|$|で、|!|\s|[\U0001f300-\U0001faff])"
        r"|(?:名前は|本名は?|氏名は?)\s*:?(?!何|まだ|無|忘|知|秘密)[\u30a0-\u30ff\u4e00-\u9fff]{2,4}[ 　]?[\u30a0-\u30ff\u4e00-\u9fff]{0,4}(?=です|だよ|っていい|って言|と申|とい|と言|\.|$|!)"
        r"|[\u30a0-\u30ff\u4e00-\u9fff]{2,4}[ 　]?[\u30a0-\u30ff\u4e00-\u9fff]{0,4}(?=と申します|といいます|と言います|っていいます|って言います)",
    ),
    make_pattern(
        ("이름", "저는", "저 ", "전 ", "나는", "본명", "실명", "합니다", "입니다", "해요", "이에요", "예요", "성함"),
        rf"(?:제 이름은?|내 이름은?|이름:|이름은|성함은?:?|본명은?:?|실명은?:?|(?:안녕하세요|반가워요|반갑습니다|안녕)[!,.~\s]*(?:저는|전|저)?)\s*{_KOREAN_NAME}(?=이에요|예요|입니다|인데|이라고|라고|이고|임|이야|이라|이요|[\s.,!]|$)"
        rf"|(?<![가-힣])(?:저는|저|전|나는|난)\s*{_KOREAN_NAME}(?=이에요|예요|입니다|인데|이라고|라고|이고)"
        rf"|(?:^|(?<=\n)){_KOREAN_NAME}(?=입니다|이에요|예요)"
        rf"|(?<![가-힣]){_KOREAN_NAME}(?=이?라고 (?:합니다|해요|불러|합니당))",
    ),
    make_pattern(
        ("born", "dob", "d.o.b", "birth", "bday", "b-day", "geb", "nac", "cumple", "cumplo", "родил", "рождения", "днюха", "д.р", "др", "生日", "出生", "生于", "誕生日", "生年月日", "생년월일", "생일"),
        rf"{_BIRTH}[\s:=\-,]{{0,4}}(?:(?:am|on|the|el|is|ist|es|den|в|это|:)\s+)?{_DATE}",
        _is_recent,
    ),
    make_pattern(("生まれ", "년생"), r"(?:19|20)\d\d年(?:\d{1,2}月(?:\d{1,2}日)?)?生まれ|\d{1,2}月\d{1,2}日生まれ"),
    make_pattern(
        ("go to", "attend", "student at", "gehe auf", "gehe in", "estudio en", "voy a", "учусь в", "хожу в", "учусь в", "上学", "通", "读", "학교", "中学校", "小学校", "高校"),
        rf"(?:(?:i |and |we )(?:go to|attend|study at)|student at)\s+(?:the\s+)?(?-i:(?:[{_CAPITAL}][\w.'\-]+\s+){{1,4}})(?:high school|middle school|elementary(?: school)?|primary(?: school)?|school|academy|college|university)"
        rf"|gehe (?:auf|in) (?:das|die|den)\s+(?:(?-i:[{_CAPITAL}])[\w\-]+[\s\-]*){{0,3}}(?:[\w\-]*gymnasium|[\w\-]*schule)"
        rf"|(?:estudio en|voy al?)\s+(?:el |la |l )?(?:colegio|instituto|escuela|ies|cole)\s+(?:(?-i:[{_CAPITAL}])[\w.]+\s*(?:de\s|la\s|del\s)*){{1,4}}"
        r"|(?:учусь|хожу) в\s+(?:\d+\s*(?:-?м)?\s*классе\s+)?(?:гимназии|школе|лицее|школу|гимназию|лицей)\s*(?:№|номер|n)?\s*\d+"
        r"|(?:在|读|就读于?)[\u4e00-\u9fff]{2,10}(?:小学|中学|高中|大学|学校|附中|一中|二中)(?=上学|读书|读|念书|上|$|[，。,.])"
        r"|[\u4e00-\u9fff]{2,8}(?:小学校|中学校|高校|高等学校|大学)(?=に通|の?\d年|の生徒|在学)"
        r"|[가-힣]{2,8}(?:초등학교|중학교|고등학교|대학교)(?=에?\s*(?:다녀|다니|재학|학생|\d학년))",
    ),
)
