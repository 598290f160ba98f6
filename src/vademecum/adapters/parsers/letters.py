"""Which encoding gives the letters that some language really uses?

General detectors were measured on short texts in 2026: four of ten were wrong (`não` became `năo`).
"""

import regex

_HIRAGANA_KATAKANA = "".join(map(chr, [*range(0x3041, 0x3097), *range(0x30A1, 0x30FD)]))
_HANGUL = "".join(map(chr, range(0xAC00, 0xD7A4)))
_HAN = "".join(map(chr, range(0x4E00, 0x9FA6)))
_JAPANESE = (
    _HIRAGANA_KATAKANA + "日一国人年大十二本中長出三時行見月後前生五間上東四今金九入学高円子外八"
    "六下来気小七山話女北午百書先名川千水半男西電校語土木聞食車何南万毎白天母火右読友左休父雨会同"
    "事自社発者地業方新場員立開手力問代明動京目通言理体田主題意不作用度強公持野以思家世多正安院心"
    "界教文元重近考画海売知道集別物使品計死特私始朝運終台広住真有口少町料工建空急止送切転研足究楽"
    "起着店病質待試族銀早映親験英医仕去味写字答夜音注帰古歌買悪図週室歩風紙黒花春赤青館屋色走秋夏"
    "村市県区所部分産関性的連対経表現全化成法定員氏郎藤佐商単価件数番号値額税様式払返期限契約規則券"
)
_CHINESE = (
    "的一是不了在人有我他这中大来上个国到说们为子和你地出道也时年得就那要下以生会自着去之过家学对"
    "可她里后小么心多天而能好都然没日于起还发成事只作当想看文无开手十用主行方又如前所本见经头面公"
    "同三已老从动两长知民样现分将外但身些与高意进把法此实回二理美点月明其种声全工己话儿者向情部正"
    "名定女问力机给等几很业最间新什打便位因重被走电四第门相次东政海口使教西再平真听世气信北少关并"
    "内加化由却代军产入先山五太水万市眼体别处总才场师书比住员性通目报立马命张活难神数件安表原车应"
    "路期提金何更反合放做系计或司利受光王果亲界及今京务制解各任至清物台记边共特度统色字请交认论价"
    "这個們為來說時國會學對裡後麼發經頭動兩長樣現將與實點種聲話問機給業間電門東氣關並內產軍體別處"
    "場師書員報馬張難數車應題計親務制記邊特許覺請認論價號單費額訂購規則條款戶營銷售測試編碼句码测试"
)
_KOREAN = (
    "이다는의을를가에고하지기로은사리나도인자시대어한그서라해부있수정일아스여전보안구주만게제오"
    "들과상장용었것면관없원동생공선우성국소세드계니까습요와때년경문행경우방무실조업연신간비물품권금액"
    "번호름개월내외본유효환불취중된할될입력결명김박최영철민남북서울산"
)
_RUSSIAN = "оеаинтсрвлкмдпуя", "ыьгзбчйхжшюцщэфъёіїєґўљњћђџјѕ"
_GREEK = "αοιετσνηυρπκάό", "βγδζθλμξςφχψωέήίύώϊϋΐΰ"
_HEBREW = "יהלורמאבתש", "גדזחטךכםןנסעףפץצק"
_ARABIC = "اليمونرتبةعدسفهک", "ءآأؤإئثجحخذزشصضطظغقكىپچژگ"
_THAI = "ากนรอเงมยลวดทสตปบคหิีัแไใ่้", "".join(map(chr, range(0x0E01, 0x0E5C)))
_WESTERN = ("áâãàçéêíóôõúü", "áéíóúüñ", "àâæçéèêëîïôœùûüÿ", "äöüß", "åäöæøé", "àèéìíòóùú", "ïéèëöü")
_CENTRAL = ("áčďéěíňóřšťúůýž", "ąćęłńóśźż", "áéíóöőúüű", "ăâîşţ", "čćđšž", "áäčďéíĺľňóôŕšťúýž")
_TURKISH = ("çğıöşüi\u0307âî",)
_BALTIC = ("ąčęėįšųūž", "āčēģīķļņšūž", "õäöüšž")

# An encoding, the usual letters of each language that uses it, and further ones of its script.
_Profile = tuple[str, tuple[str, ...], str]
_ONE_BYTE: tuple[_Profile, ...] = (
    ("cp1252", _WESTERN, ""),
    ("cp1250", _CENTRAL, ""),
    ("cp1254", _TURKISH, ""),
    ("cp1257", _BALTIC, ""),
    ("cp1251", (_RUSSIAN[0],), _RUSSIAN[1]),
    ("koi8_r", (_RUSSIAN[0],), _RUSSIAN[1]),
    ("cp866", (_RUSSIAN[0],), _RUSSIAN[1]),
    ("cp1253", (_GREEK[0],), _GREEK[1]),
    ("cp1255", (_HEBREW[0],), _HEBREW[1]),
    ("cp1256", (_ARABIC[0],), _ARABIC[1]),
    ("cp874", (_THAI[0],), _THAI[1]),
    ("mac_roman", _WESTERN, ""),
    ("cp850", _WESTERN, ""),
)
_TWO_BYTES: tuple[_Profile, ...] = (
    ("cp932", (_JAPANESE,), _HAN),
    ("euc_jp", (_JAPANESE,), _HAN),
    ("gb18030", (_CHINESE,), _HAN),
    ("big5hkscs", (_CHINESE,), _HAN),
    ("cp949", (_KOREAN,), _HANGUL),
)
_SAMPLE_BYTES = 1 << 14
_RARE = 0.4  # what a letter counts that a script has but texts seldom use
_OUT_OF_USE = 0.1  # what is left of old systems must speak for itself more clearly
# Two bytes that make one usual letter, again and again, are no chance.
_SURE = 0.55
# Signs that texts of every language use; all else that is no letter speaks against an encoding.
_SIGNS = frozenset(
    "‘’“”„–—…€°ºª§«»¡¿£©®·•†‰™±×÷¼½¾²³µ\u00a0、。「」『』（），：；！？・【】《》\u3000"
)
_HIGH = regex.compile(r"[^\x00-\x7f]")
_OTHER = r"[\p{Cyrillic}\p{Greek}\p{Hebrew}\p{Arabic}\p{Thai}]"
# A capital after a small letter, or letters of two alphabets in one word.
_STRANGE = regex.compile(
    rf"\ufffd|\p{{Ll}}(?=\p{{Lu}})|\p{{Latin}}(?={_OTHER})|{_OTHER}(?=\p{{Latin}})"
)


def likely_encoding(sample: bytes) -> str:
    """Return the encoding under which the bytes that are not ASCII become the most usual letters;
    Windows-1252 where nothing speaks for another."""
    sample = sample[:_SAMPLE_BYTES]
    for profiles, least in ((_TWO_BYTES, _SURE), (_ONE_BYTE, -float("inf"))):
        scores = [_score(sample, *profile) for profile in profiles]
        if max(scores) >= least:
            break
    return profiles[scores.index(max(scores))][0]


def _score(sample: bytes, encoding: str, languages: tuple[str, ...], script: str) -> float:
    text = sample.decode(encoding, errors="replace")
    letters = [letter.lower() for letter in _HIGH.findall(text)]
    if not letters:
        return 0.0
    wide = set(script)
    usual = max(
        sum(
            1.0 if letter in known or letter in _SIGNS else _RARE * (letter in wide)
            for letter in letters
        )
        for known in map(set, languages)
    )
    score = (usual - len(_STRANGE.findall(text))) / len(letters)
    return score - _OUT_OF_USE if encoding in ("cp866", "mac_roman", "cp850") else score
