"""Does whoever asks switch remembering off for themselves, over HTTP and on the page?"""

from http_server import Served
from pages_client import browser

SWITCH = "/api/v1/memories/remembering"


async def test_remembering_is_switched_over_http(served: Served) -> None:
    async with (
        served.client(await served.key()) as client,
        served.client(await served.key("user:colleague")) as colleague,
        served.client(await served.key("user:reader", tenant="other")) as elsewhere,
    ):
        assert (await client.get(SWITCH)).json()["remembers"] is True
        done = await client.put(SWITCH, json={"remembers": False})
        assert (done.status_code, done.json()["remembers"]) == (200, False)
        assert (await client.get(SWITCH)).json()["remembers"] is False
        assert (await client.get("/api/v1/memories")).json()["remembers"] is False
        assert (await client.get("/api/v1/export")).json()["remembers"] is False
        refused = await client.post("/api/v1/memories", json={"text": "I like jazz."})
        assert (refused.status_code, refused.json()["code"]) == (409, "memory-off")
        for other in (colleague, elsewhere):
            assert (await other.get(SWITCH)).json()["remembers"] is True
        for wrong in ({}, {"remembers": "perhaps"}, {"remembers": False, "principal": "user:b"}):
            assert (await client.put(SWITCH, json=wrong)).status_code == 400, wrong
        assert (await client.put(SWITCH, json={"remembers": True})).json()["remembers"] is True
        kept = await client.post("/api/v1/memories", json={"text": "I like jazz."})
        assert kept.status_code == 201
    async with served.client(await served.key("user:x", "read")) as client:
        assert (await client.put(SWITCH, json={"remembers": False})).status_code == 403


async def test_remembering_is_switched_on_the_page(served: Served) -> None:
    async with browser(served, await served.key()) as client:
        await client.post("/memory", data={"text": "I use a wheelchair."})
        page = (await client.get("/memory")).text
        assert "Remembering: on" in page
        done = await client.post("/memory/remembering", data={"on": "0"})
        assert (done.status_code, done.headers["location"]) == (303, "/memory")
        answer = await client.get("/memory")
        assert answer.headers["cache-control"] == "private, no-store"
        page = answer.text
        assert "Remembering: off" in page
        assert "I use a wheelchair." in page, "what is known can still be seen and forgotten"
        assert 'action="/memory" ' not in page, "there is nothing to write into"
        refused = await client.post("/memory", data={"text": "I like jazz."})
        assert refused.status_code == 409
        assert "switched off" in refused.text
        asked = await client.post("/ask", data={"question": "I live in Porto. What is there?"})
        assert "Remember this?" not in (await client.get(asked.headers["location"])).text
        await client.post("/memory/remembering", data={"on": "1"})
        assert "Remembering: on" in (await client.get("/memory")).text
        assert "Remember this?" in (await client.get(asked.headers["location"])).text
    async with browser(served, await served.key(), "es") as client:
        assert "Memoria: activada" in (await client.get("/memory")).text
