"""Do bytes become the right letters?"""

import pytest

from vademecum.adapters.parsers.decode import decode, encoding_named


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp932", "氏名,部署\n山田太郎,営業部\n佐藤,開発"),
        ("cp932", "これは日本語の文章です。"),
        ("euc_jp", "これは日本語の文章です。山田"),
        ("cp949", "이름,부서\n김철수,영업부"),
        ("gb18030", "姓名,部门\n张三,销售部"),
        ("gb18030", "这是一个中文句子，用于测试编码。"),
        ("big5hkscs", "姓名,部門\n王小明,業務部"),
        ("cp1252", "café €"),
        ("cp1252", "naïve"),
        ("cp1252", "it’s – fine"),
        ("cp1252", "20 °C ± 3"),
        ("cp1252", "PREÇO ÚNICO À VISTA"),
        ("cp1252", "Größe über Straße"),
        ("cp1252", "reembolso é feito em até 7 dias úteis, não há preços acima de 10 €"),
        ("cp1250", "Příliš žluťoučký kůň úpěl ďábelské ódy"),
        ("cp1250", "Zażółć gęślą jaźń i inne polskie słowa"),
        ("cp1251", "Привет, мир"),
        ("cp1251", "Цена: 100 рублей"),
        ("koi8_r", "Возврат билетов возможен в течение семи дней."),
        ("cp866", "Возврат билетов возможен"),
        ("cp1253", "Καλημέρα κόσμε, αυτό είναι ένα κείμενο"),
        ("cp1256", "مرحبا بالعالم هذا نص عربي"),
        ("cp1254", "İstanbul'da güneşli bir gün, çok şükür"),
        ("cp874", "สวัสดีชาวโลก นี่คือข้อความ"),
        ("mac_roman", "Olá, não há preços: reembolso é feito até"),
        ("iso2022_jp", "これは"),
        ("utf-16-le", "Hello world\nline two"),
        ("utf-16-be", "Hello world"),
        ("utf-16-le", "Привет, мир\nстрока"),
        ("utf-16-le", "これは 日本語\nの文章です"),
        ("utf-32-le", "Hello"),
        ("utf-8", "Olá\x00 não"),
        ("utf-8", "pol\x00icy"),
        ("utf-8", ""),
    ],
)
def test_no_mark_and_no_name(encoding: str, text: str) -> None:
    assert decode(text.encode(encoding)) == text


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_mark_decides_and_is_no_letter(encoding: str) -> None:
    assert decode("name;größe".encode(encoding), "cp1251") == "name;größe"


def test_what_a_document_says_counts_unless_it_is_utf_8() -> None:
    assert decode("цена".encode("cp1251"), "windows-1251") == "цена"
    assert decode("цена".encode(), "windows-1251") == "цена"
    assert decode("“x”".encode("cp1252"), "ISO-8859-1") == "“x”"
    assert decode("한글".encode("cp949"), "ks_c_5601-1987") == "한글"
    assert decode(b"plain", "utf-16") == "plain"
    assert decode("café".encode("cp1252"), "no-such-code") == "café"
    assert encoding_named("base64") == ""


def test_few_damaged_letters_leave_the_others() -> None:
    text = "não há preços acima " * 20
    assert decode(text.encode() + b"\xff") == text + "\ufffd"
    assert decode((text + "é").encode()[:-1]).startswith(text)
