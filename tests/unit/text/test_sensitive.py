"""Are secrets and sensitive things found, and plain ones left alone?"""

import pytest

from vademecum.text.people.secrets import holds_secret
from vademecum.text.people.sensitive import is_vital, sensitive


@pytest.mark.parametrize(
    "text",
    [
        "my password is hunter2!",
        "Minha senha é abacate99",
        "La contraseña del wifi es c4s4blanca",
        "the wifi password: correcthorse",
        'my password is "open sesame please"',
        "api key = sk-proj-AbCdEf0123456789AbCd",
        "use ghp_0123456789abcdefghijABCDEFGHIJ0123",
        "AKIAIOSFODNN7EXAMPLE is the key",
        "-----BEGIN RSA PRIVATE KEY-----",
        "postgres://admin:secret@db.example/x",
        "my card is 4111 1111 1111 1111",
        "card 5500-0000-0000-0004 expires in May",
        "my PIN is 4821",
    ],
)
def test_a_secret_is_found(text: str) -> None:
    assert holds_secret(text)


@pytest.mark.parametrize(
    "text",
    [
        "My password manager is Bitwarden",
        "I forgot my password",
        "My phone number is 912 345 678",
        "The order number is 4111 1111 1111 1112",
        "I have a pin collection with 300 pins",
        "My locker code is KH-402",
        "The token of our friendship is a ring",
        "I live at 12 Rose Street, flat 4",
    ],
)
def test_what_is_no_secret_is_left_alone(text: str) -> None:
    assert not holds_secret(text)


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("I am allergic to peanuts", {"health"}),
        ("Uso cadeira de rodas", {"health"}),
        ("Tengo diabetes", {"health"}),
        ("I go to church on Sundays", {"religion"}),
        ("Sou católica", {"religion"}),
        ("I voted for the green party", {"politics"}),
        ("Soy lesbiana", {"sexuality"}),
        ("My fingerprint opens the door", {"biometrics"}),
        ("I love spicy food", set()),
        ("Gosto de café", set()),
        ("Vivo en Cádiz", set()),
    ],
)
def test_sensitive_content_is_named_by_its_kind(text: str, kinds: set[str]) -> None:
    assert sensitive(text) == kinds


def test_what_safety_hangs_on_is_vital() -> None:
    assert is_vital("I'm allergic to peanuts")
    assert is_vital("Sou alérgica a amendoim")
    assert is_vital("Uso silla de ruedas")
    assert not is_vital("I like peanuts")
