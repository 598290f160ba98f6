"""Is a shifted clock behind by what was said, and are its durations real?"""

from datetime import UTC, datetime, timedelta

from vademecum.testing.clocks import ShiftedClock


def test_it_is_behind_and_goes_on() -> None:
    clock = ShiftedClock(behind=timedelta(days=29))
    before = datetime.now(UTC)
    shown = clock.now()
    assert before <= shown + timedelta(days=29) <= datetime.now(UTC)
    assert shown.tzinfo is UTC
    started = clock.monotonic()
    assert 0 <= clock.monotonic() - started < 60
