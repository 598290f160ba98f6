"""What stands in the log? One JSON object a line: who called what, how it ended, never a text.

Only fields that we name come through, so that no question, document, name or key can.
"""

import logging
import sys
from contextvars import ContextVar
from typing import Any

import structlog
from structlog.typing import EventDict, Processor

REQUEST_ID: ContextVar[str] = ContextVar("request_id", default="")
_SHOWN = frozenset(
    {"event", "level", "logger", "timestamp", "request_id", "method", "route", "status", "ms",
     "key_id", "code"}
)  # fmt: skip
# Of our own code a message is a sentence of ours with kinds and codes in it. Of others it may hold
# anything that went through them, so that only its template is shown.
_OURS = "vademecum"


def configure(level: str) -> None:
    """Send every logger of the process to one handler, however often this is called."""
    shared: list[Processor] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _identified,
    ]
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[_template, *shared],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            _allowed,
            structlog.processors.JSONRenderer(ensure_ascii=True),
        ],
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )


def _identified(_logger: Any, _name: str, event: EventDict) -> EventDict:
    if identity := REQUEST_ID.get():
        event["request_id"] = identity
    return event


def _template(_logger: Any, _name: str, event: EventDict) -> EventDict:
    record: logging.LogRecord = event["_record"]
    if not record.name.startswith(_OURS):
        event["event"] = str(record.msg)
    return event


def _allowed(_logger: Any, _name: str, event: EventDict) -> EventDict:
    """Leave out what is not named, and line ends, with which a line could be forged."""
    return {
        key: value if isinstance(value, int | float) else " ".join(str(value).splitlines())
        for key, value in event.items()
        if key in _SHOWN
    }
