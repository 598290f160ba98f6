"""Does a value, a denial or a role back a claim only where its source says it of the same?"""

import pytest

from vademecum.answer.cite import verify
from vademecum.answer.markers import Claim
from vademecum.model.answer import Sentence
from vademecum.testing.passages import make_passage

POOL = (
    "The main pool opens at 6:30 a.m. on weekdays and the small pool at 9 a.m.; adults pay 5 euros "
    "and children pay 3 euros. Floats are allowed only in the small pool. The red bus stops at "
    "Cedar Hall and the blue bus stops at Elm Court."
)
LEASE = (
    "The tenant pays the landlord a deposit, and the agent sends the keys to the tenant. Pets are "
    "forbidden in the flat, except for birds. Repairs are paid for by the landlord."
)


async def checked(text: str, claim: str) -> Sentence:
    """Return the claim after the check by words alone."""
    passage = make_passage(text)
    sentence, _ = await verify(Claim(text=claim, markers=(1,)), {1: passage}, None)
    return sentence


@pytest.mark.parametrize(
    ("text", "right", "wrong", "why"),
    [
        (POOL, "Children pay 3 euros.", "Children pay 5 euros.", "number"),
        (POOL, "The small pool opens at nine.", "The small pool opens at 6:30 a.m.", "number"),
        (
            POOL,
            "The blue bus stops at Elm Court.",
            "The blue bus stops at Cedar Hall.",
            "name",
        ),
        (
            POOL,
            "Floats are allowed in the small pool.",
            "Floats are allowed in the main pool.",
            "negation",
        ),
        (
            POOL,
            "Floats are not allowed in the main pool.",
            "Floats are not allowed in the small pool.",
            "negation",
        ),
        (
            LEASE,
            "The tenant gets the keys from the agent.",
            "The agent gets the keys from the tenant.",
            "roles",
        ),
        (
            LEASE,
            "The deposit is paid to the landlord by the tenant.",
            "The deposit is paid to the tenant by the landlord.",
            "roles",
        ),
        (
            LEASE,
            "Birds are allowed in the flat.",
            "Birds are forbidden in the flat.",
            "negation",
        ),
    ],
)
async def test_what_stands_in_a_rival_statement_backs_nothing(
    text: str, right: str, wrong: str, why: str
) -> None:
    assert (await checked(text, right)).support != "unsupported", right
    refused = await checked(text, wrong)
    assert (refused.support, refused.why) == ("unsupported", why), wrong


async def test_a_limit_decides_which_statement_an_amount_belongs_to() -> None:
    text = (
        "Groups of 15 to 39 people get a discount of 20 %, and groups of 40 or more get a discount "
        "of 25 %."
    )
    right = await checked(text, "A group of 50 people gets a discount of 25 %.")
    wrong = await checked(text, "A group of 50 people gets a discount of 20 %.")
    assert right.support != "unsupported"
    assert (wrong.support, wrong.why) == ("unsupported", "number")


async def test_a_number_beside_nothing_that_the_claim_says_is_no_rival() -> None:
    text = "A refund takes 5 days, as shown in [12] of the rules; see `arr[0]` there."
    said = await checked(text, "It takes 5 days, as shown in [12] of the rules.")
    assert said.support == "supported"
