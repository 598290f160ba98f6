"""What is counted of requests and answers, for Prometheus? Numbers only: nobody, and no text."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from vademecum.model.answer import Answer, Usage

_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)


class Metrics:
    """The counters of one process; each has its unit in its name."""

    def __init__(self) -> None:
        own = self.registry = CollectorRegistry()
        self.requests = Counter(
            "vademecum_requests", "Requests answered", ["route", "status"], registry=own
        )
        self.seconds = Histogram(
            "vademecum_request_seconds", "Until the end of an answer", ["route"],
            buckets=_SECONDS, registry=own,
        )  # fmt: skip
        self.answers = Counter("vademecum_answers", "Answers", ["mode", "abstained"], registry=own)
        self.given_again = Counter(
            "vademecum_given_again", "Answers that were given before", ["cache"], registry=own
        )
        self.degraded = Counter(
            "vademecum_degraded", "Answers that lacked a part", ["part"], registry=own
        )
        self.tokens = Counter(
            "vademecum_tokens", "Tokens of language models", ["kind"], registry=own
        )
        self.stages = Histogram(
            "vademecum_stage_seconds", "Stages of an answer", ["stage"],
            buckets=_SECONDS, registry=own,
        )  # fmt: skip
        self.cost = Counter("vademecum_cost", "What those tokens cost, as set", registry=own)
        self.refusals = Counter(
            "vademecum_refusals", "Refused before the work", ["limit"], registry=own
        )
        self.streams = Gauge("vademecum_answers_under_way", "Answers being written", registry=own)

    def request(self, route: str, status: int, seconds: float) -> None:
        """Count a request to a declared route, "" for none."""
        self.requests.labels(route, str(status)).inc()
        self.seconds.labels(route).observe(seconds)

    def answer(self, answer: Answer) -> None:
        """Count an answer and what it lacked."""
        self.answers.labels(answer.mode, str(answer.abstained).lower()).inc()
        if answer.given_before is not None:
            self.given_again.labels("semantic" if answer.reworded else "exact").inc()
        for part in answer.degraded:
            self.degraded.labels(part.partition(":")[0]).inc()
        for stage, milliseconds in answer.timings_ms.items():
            self.stages.labels(stage).observe(milliseconds / 1000)

    def spent(self, usage: Usage, cost: float) -> None:
        """Count what an answer took, however it ended."""
        self.tokens.labels("prompt").inc(usage.prompt_tokens)
        self.tokens.labels("completion").inc(usage.completion_tokens)
        self.cost.inc(cost)

    def refused(self, limit: str) -> None:
        """Count a request that one of the limits kept out: `rate`, `streams`, a budget."""
        self.refusals.labels(limit).inc()

    def text(self) -> bytes:
        """Return all of it in the text format of Prometheus."""
        return generate_latest(self.registry)
