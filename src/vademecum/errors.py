"""What can go wrong, as one tree: each class has a stable code and an exit status.

VademecumError                      internal             1
|-- UsageError                      usage                2
|   |-- InvalidConfiguration        configuration        2
|   |   |-- UnknownSetting          setting-unknown      2
|   |   `-- InvalidSetting          setting-invalid      2
|   |-- InvalidFilter               filter-invalid       2
|   |-- SecretRefused               secret-refused       2
|   |-- MemoryOff                   memory-off           2
|   `-- RepeatDiffers               repeat-differs       2
|-- NotFound                        not-found            3
|   |-- SourceNotFound              source-not-found     3
|   |-- DocumentNotFound            document-not-found   3
|   |-- ConversationNotFound        conversation-not-found  3
|   |-- MemoryNotFound              memory-not-found     3
|   |-- TraceNotFound               trace-not-found      3
|   |-- KeyNotFound                 key-not-found        3
|   |-- FeedbackNotFound            feedback-not-found   3
|   |-- EvaluationNotFound          evaluation-not-found 3
|   `-- CalibrationNotFound         calibration-not-found 3
|-- Forbidden                       forbidden            4
|   |-- EgressRefused               egress-refused       4
|   `-- Unauthenticated             unauthenticated      4
|-- ServiceAway                     service-away         5
|   |-- DatabaseAway                database-away        5
|   |-- ProviderAway                provider-away        5
|   |   `-- PromptTooLong           prompt-too-long      5
|   |-- SourceAway                  source-away          5
|   |-- QueueFull                   queue-full           5
|   |-- IndexSwitched               index-switched       5
|   |-- ReindexBusy                 reindex-busy         5
|   |-- RepeatRunning               repeat-running       5
|   `-- TooMany                     too-many             5
|       `-- BudgetSpent             budget-spent         5
|-- DatabaseUnusable                database-unusable    1
|   |-- DataFolderUnusable          data-folder-unusable 1
|   |-- ServerVersionWrong          server-version       1
|   |-- ExtensionUnusable           extension-unusable   1
|   |-- DiskFull                    disk-full            1
|   |-- MigrationFailed             migration-failed     1
|   `-- IsolationBroken             isolation-broken     1
|-- ModelUnusable                   model-unusable       1
|   |-- ModelFileMissing            model-file-missing   1
|   |-- ModelFileDamaged            model-file-damaged   1
|   `-- TextTooLong                 text-too-long        1
|-- GateRefused                     gate-refused         1
|-- SpaceMismatch                   space-mismatch       1
|-- EmbeddingInvalid                embedding-invalid    1
`-- DocumentUnreadable              document-unreadable  1
    |-- PasswordRequired            password-required    1
    |-- MediaTypeUnknown            media-type-unknown   1
    `-- LimitExceeded               limit-exceeded       1
"""

from typing import ClassVar


class VademecumError(Exception):
    """Carry one clear sentence, what to do about it, a stable code and an exit status."""

    code: ClassVar[str] = "internal"
    exit_status: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        sentence = self.message.rstrip(".")
        return f"{sentence}. {self.hint}" if self.hint else sentence


class UsageError(VademecumError):
    code = "usage"
    exit_status = 2


class InvalidConfiguration(UsageError):
    code = "configuration"


class UnknownSetting(InvalidConfiguration):
    code = "setting-unknown"


class InvalidSetting(InvalidConfiguration):
    code = "setting-invalid"


class InvalidFilter(UsageError):
    code = "filter-invalid"


class SecretRefused(UsageError):
    code = "secret-refused"


class MemoryOff(UsageError):
    code = "memory-off"


class RepeatDiffers(UsageError):
    code = "repeat-differs"


class NotFound(VademecumError):
    code = "not-found"
    exit_status = 3


class SourceNotFound(NotFound):
    code = "source-not-found"


class DocumentNotFound(NotFound):
    code = "document-not-found"


class ConversationNotFound(NotFound):
    code = "conversation-not-found"


class MemoryNotFound(NotFound):
    code = "memory-not-found"


class TraceNotFound(NotFound):
    code = "trace-not-found"


class KeyNotFound(NotFound):
    code = "key-not-found"


class FeedbackNotFound(NotFound):
    code = "feedback-not-found"


class EvaluationNotFound(NotFound):
    code = "evaluation-not-found"


class CalibrationNotFound(NotFound):
    code = "calibration-not-found"


class Forbidden(VademecumError):
    code = "forbidden"
    exit_status = 4


class EgressRefused(Forbidden):
    code = "egress-refused"


class Unauthenticated(Forbidden):
    code = "unauthenticated"


class ServiceAway(VademecumError):
    code = "service-away"
    exit_status = 5


class DatabaseAway(ServiceAway):
    code = "database-away"


class ProviderAway(ServiceAway):
    code = "provider-away"


class PromptTooLong(ProviderAway):
    code = "prompt-too-long"


class SourceAway(ServiceAway):
    code = "source-away"


class QueueFull(ServiceAway):
    code = "queue-full"


class IndexSwitched(ServiceAway):
    code = "index-switched"


class ReindexBusy(ServiceAway):
    code = "reindex-busy"


class RepeatRunning(ServiceAway):
    code = "repeat-running"


class TooMany(ServiceAway):
    """`wait` is in how many seconds to come again, None where nobody knows."""

    code = "too-many"

    def __init__(self, message: str, *, hint: str = "", wait: float | None = None) -> None:
        super().__init__(message, hint=hint)
        self.wait = wait


class BudgetSpent(TooMany):
    code = "budget-spent"


class DatabaseUnusable(VademecumError):
    code = "database-unusable"


class DataFolderUnusable(DatabaseUnusable):
    code = "data-folder-unusable"


class ServerVersionWrong(DatabaseUnusable):
    code = "server-version"


class ExtensionUnusable(DatabaseUnusable):
    code = "extension-unusable"


class DiskFull(DatabaseUnusable):
    code = "disk-full"


class MigrationFailed(DatabaseUnusable):
    code = "migration-failed"


class IsolationBroken(DatabaseUnusable):
    code = "isolation-broken"


class ModelUnusable(VademecumError):
    code = "model-unusable"


class ModelFileMissing(ModelUnusable):
    code = "model-file-missing"


class ModelFileDamaged(ModelUnusable):
    code = "model-file-damaged"


class TextTooLong(ModelUnusable):
    code = "text-too-long"


class GateRefused(VademecumError):
    code = "gate-refused"


class SpaceMismatch(VademecumError):
    code = "space-mismatch"


class EmbeddingInvalid(VademecumError):
    code = "embedding-invalid"


class DocumentUnreadable(VademecumError):
    code = "document-unreadable"


class PasswordRequired(DocumentUnreadable):
    code = "password-required"


class MediaTypeUnknown(DocumentUnreadable):
    code = "media-type-unknown"


class LimitExceeded(DocumentUnreadable):
    code = "limit-exceeded"
