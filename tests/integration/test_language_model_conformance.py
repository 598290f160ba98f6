"""Do the scripted model and the adapter over a real connection keep the port's promises?"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from vademecum.adapters.language_models.pydantic_ai import make_language_model
from vademecum.ports.language_model import LanguageModel
from vademecum.testing.conformance_language_model import LanguageModelConformance
from vademecum.testing.language_models import ModelFault, ScriptedModel, provider_away
from vademecum.testing.openai_server import OpenAIServer, Reply


class TestScriptedModel(LanguageModelConformance):
    @asynccontextmanager
    async def replying(
        self, pieces: Sequence[str], *, breaks_off: bool = False
    ) -> AsyncIterator[LanguageModel]:
        faults: dict[int, ModelFault] = {1: provider_away(len(pieces))} if breaks_off else {}
        yield ScriptedModel([pieces], faults=faults)


class TestAdapter(LanguageModelConformance):
    @asynccontextmanager
    async def replying(
        self, pieces: Sequence[str], *, breaks_off: bool = False
    ) -> AsyncIterator[LanguageModel]:
        with OpenAIServer([Reply(pieces=tuple(pieces), cut=breaks_off)]) as server:
            model = make_language_model("openai:test-model", base_url=server.base_url)
            yield model
            await model.aclose()


class TestOllama(LanguageModelConformance):
    @asynccontextmanager
    async def replying(
        self, pieces: Sequence[str], *, breaks_off: bool = False
    ) -> AsyncIterator[LanguageModel]:
        with OpenAIServer([Reply(pieces=tuple(pieces), cut=breaks_off)]) as server:
            model = make_language_model("ollama:llama-test", base_url=server.base_url)
            yield model
            await model.aclose()
