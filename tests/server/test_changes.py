"""What changed from one revision of a document to the next: to whom it is told, and only as text?"""

from http_server import Served, put
from pages_client import browser

BEFORE = "# Doors\n\nDoors open at nine.\n\nBags stay outside."
AFTER = "# Doors\n\nDoors open at ten.\n\nBags stay outside.\n\nDogs too."
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>"


async def test_two_revisions_stand_side_by_side(served: Served) -> None:
    key = await served.key()
    document = await put(served, key, BEFORE)
    address = f"/sources/{document['id']}"
    async with browser(served, key) as client:
        assert "/changes" not in (await client.get(address)).text, "one is compared with nothing"
        assert (await client.get(f"{address}/changes")).status_code == 404
        await put(served, key, AFTER)
        assert f"{address}/changes" in (await client.get(address)).text
        shown = await client.get(f"{address}/changes")
        assert shown.status_code == 200
        assert shown.headers["cache-control"] == "private, no-store"
        text = shown.text
        assert "Doors open at <del>nine</del>." in text
        assert "Doors open at <ins>ten</ins>." in text
        assert "<ins>Dogs too.</ins>" in text
        assert "1 word taken out" in text
        assert "3 words put in" in text, "ten, Dogs, too"
        back = (await client.get(f"{address}/changes", params={"before": 2, "after": 1})).text
        assert "Doors open at <del>ten</del>." in back
        same = (await client.get(f"{address}/changes", params={"before": 2, "after": 2})).text
        assert "is the same in both" in same
        for wrong in ({"before": 7}, {"after": 7}, {"before": -1}):
            assert (await client.get(f"{address}/changes", params=wrong)).status_code == 404
        assert (await client.get(f"{address}/changes", params={"before": "x"})).status_code == 400
    async with browser(served, key, "pt") as client:
        assert "O que mudou" in (await client.get(f"{address}/changes")).text


async def test_nothing_in_a_revision_acts(served: Served) -> None:
    key = await served.key()
    document = await put(served, key, f"Doors open.\n\n{HOSTILE}")
    await put(served, key, f"Doors close.\n\n{HOSTILE} {HOSTILE}")
    async with browser(served, key) as client:
        text = (await client.get(f"/sources/{document['id']}/changes")).text
    assert "<script>alert" not in text
    assert "<img src=x" not in text


async def test_only_who_sees_a_document_sees_its_past(served: Served) -> None:
    owner = await served.key("user:owner")
    document = await put(served, owner, "zqold words", access=["user:owner"])
    await put(served, owner, "zqnew words", access=["user:owner"])
    address = f"/sources/{document['id']}/changes"
    missing = "/sources/01890000-0000-7000-8000-000000000000/changes"
    async with browser(served, owner) as client:
        assert "zqold" in (await client.get(address)).text
    for principal, tenant in (("user:colleague", "default"), ("user:owner", "other")):
        async with browser(served, await served.key(principal, tenant=tenant)) as client:
            answer, other = await client.get(address), await client.get(missing)
            assert answer.status_code == other.status_code == 404
            assert "zqold" not in answer.text
            assert "zqnew" not in answer.text


async def test_a_revision_that_is_kept_no_longer_is_not_told(served: Served) -> None:
    key = await served.key()
    document = await put(served, key, BEFORE)
    await put(served, key, AFTER)
    served.bench.sql(
        "DELETE FROM vademecum.revision WHERE tenant = 'default' AND document = %s AND number = 1",
        document["id"],
    )
    async with browser(served, key) as client:
        address = f"/sources/{document['id']}/changes"
        answer = await client.get(address, params={"before": 1, "after": 2})
        assert answer.status_code == 404
        assert "nine" not in answer.text
