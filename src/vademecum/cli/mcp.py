"""`vade mcp`: the tools for a model that runs beside us, over standard input and output."""

import asyncio

from vademecum.cli.options import COMMON, As, Labels, scope_of
from vademecum.cli.output import err
from vademecum.composing import open as open_app
from vademecum.model.principal import LOCAL_PRINCIPAL
from vademecum.model.serving.key import PERMISSIONS


def mcp(principal: As = None, labels: Labels = None) -> None:
    """Speak the Model Context Protocol over standard input and output, as one person."""
    from vademecum.server.tools import Who, tools_over

    scope = scope_of(principal or LOCAL_PRINCIPAL, labels)
    who = Who(scope=scope, permissions=frozenset(PERMISSIONS) - {"admin"})

    async def run() -> None:
        async with open_app(COMMON.settings(), tell=err.print) as app:
            await tools_over(app, lambda _: who).run_stdio_async()

    asyncio.run(run())
