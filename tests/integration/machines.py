"""How is a state machine run, so that the same histories come each time?"""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

Machine = Callable[[str, Path, Counter[str]], RuleBasedStateMachine]


def run(
    machine: Machine, url: str, folder: Path, *, examples: int, steps: int, shrink: bool = True
) -> Counter[str]:
    """Run a machine over a database; return how often each of its rules was used."""
    rules: Counter[str] = Counter()
    phases = [Phase.explicit, Phase.generate, *([Phase.shrink] if shrink else [])]
    run_state_machine_as_test(
        lambda: machine(url, folder, rules),
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            database=None,
            derandomize=True,
            print_blob=True,
            phases=phases,
            suppress_health_check=list(HealthCheck),
        ),
    )
    return rules
