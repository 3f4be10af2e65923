"""Redis Streams, with a real server: whatever is killed, each entry comes out once, and classes are the same."""

from __future__ import annotations

import json
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tclose.errors import SchemaError, TableError
from tclose.stream.envelope import unpack
from tclose.stream.feeds import LostError, PendingOutcome, StreamEnding, StreamStatus, run
from tests.stream.brokers import Broker, came_out, needs_redis, put
from tests.stream.feeding import STEP, WINDOW, Killed, go, lines, objects, put_in, schema, settings
from tests.stream.killing import HOW, sent_until, stream_redis

pytestmark = needs_redis
ROWS = 110
# What is dead sends nothing, not even when it is collected.
of_the_dead = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    broker = Broker(tmp_path_factory.mktemp("redis"))
    yield broker
    broker.kill()


@pytest.fixture
def client(broker: Broker) -> Iterator[Any]:
    with broker.client() as client:
        client.flushall()
        yield client


@pytest.fixture(scope="module")
def reference(given: list[bytes], tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """What files would have come to."""
    folder = put_in(tmp_path_factory.mktemp("reference"), given)
    go(folder)
    letters = objects(folder / "rejected")
    for letter in letters:
        letter["entry"] = f"{letter.pop('line')}-0"
        letter.pop("file")
    found = {name: objects(folder / name) for name in ("certificates", "ledger")}
    return {"out": objects(folder / "out.jsonl"), "rejected": letters, **found}


def feed(broker: Broker, **options: Any) -> Any:
    from tclose.stream.feeds.redis_client import RedisKeys
    from tclose.stream.feeds.redis_feed import RedisFeed

    beside = {name: options.pop(name, name) for name in ("certificates", "ledger")}
    keys = RedisKeys("in", options.pop("to", "out"), options.pop("group", "tclose"), **beside)
    return RedisFeed(schema(), broker.url, keys, **{"json_field": "row", "consumer": "one", **options})


def stream(
    broker: Broker, ending: StreamEnding | None = None, status: StreamStatus | None = None, **options: Any
) -> StreamStatus:
    return run(feed(broker, **options), schema(), settings(), ending, status)


def state(client: Any) -> bytes:
    """What was committed last."""
    return unpack(client.get("in:tclose:checkpoint"))[1][""]


def settled(client: Any, reference: dict[str, list[Any]]) -> None:
    """All is as it must be, and nothing is pending."""
    assert came_out(client) == reference
    assert client.xpending("in", "tclose")["pending"] == 0


def test_the_same_as_with_files(
    broker: Broker, client: Any, given: list[bytes], reference: dict[str, list[Any]]
) -> None:
    put(client, given)
    status = stream(broker)
    settled(client, reference)
    assert status.counts["rows"] == len(given)
    again = stream(broker)  # the stream has ended
    assert again.counts == {}
    settled(client, reference)


def test_fields_as_columns(broker: Broker, client: Any, given: list[bytes]) -> None:
    rows = [json.loads(line) for line in lines(ROWS, broken=False)]
    for row in rows:
        client.xadd("in", {name: str(value) for name, value in row.items()})
    client.xadd("in", {b"age": b"\xff"})
    client.execute_command("XADD", "in", "*", "age", "1", "age", "2")
    client.xadd("in", {"age": "SECRET"})
    stream(broker, json_field=None)
    released = [fields for _, fields in client.xrange("out")]
    assert sorted(fields[b"id"].decode() for fields in released) == sorted(row["id"] for row in rows)
    assert {*released[0]} == {b"id", b"age", b"zip", b"ill", b"pay", b"class"}
    letters = [fields[b"reason"].decode() for _, fields in client.xrange("out:rejected")]
    assert [("not text" in letters[0]), ("twice" in letters[1]), ("lacks" in letters[2])] == [True] * 3
    assert "SECRET" not in "".join(letters)


# Killed.


def at_points(broker: Broker, client: Any, given: list[bytes], reference: dict[str, list[Any]], every: int) -> None:
    put(client, given)
    with sent_until(None, "before") as killer:
        stream(broker)
    for place, point in enumerate(range(1, killer.calls + 1, every)):
        client.flushall()
        put(client, given)
        for at, how in ((point, HOW[place % 3]), (2 + point % 9, HOW[point % 3])):
            with sent_until(at, how), pytest.raises(Killed):
                stream(broker)
        stream(broker)
        settled(client, reference)


@pytest.mark.slow
@of_the_dead
def test_killed_at_some_points(
    broker: Broker, client: Any, given: list[bytes], reference: dict[str, list[Any]]
) -> None:
    at_points(broker, client, given, reference, 9)


@pytest.mark.slow
@of_the_dead
@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.campaign)])
def test_killed_at_every_point(
    step: int, broker: Broker, client: Any, given: list[bytes], reference: dict[str, list[Any]]
) -> None:
    at_points(broker, client, given, reference, step)


@pytest.mark.slow
@of_the_dead
def test_another_consumer_takes_over_what_was_delivered(
    broker: Broker, client: Any, given: list[bytes], reference: dict[str, list[Any]]
) -> None:
    """The first dies with entries pending and a lease; the second waits for the lease, and goes on."""
    put(client, given)
    with sent_until(25, "after"), pytest.raises(Killed):
        stream(broker, lease=1.0)
    assert client.get("in:tclose:checkpoint:owner") == b"one"
    said: list[str] = []
    stream(broker, consumer="two", say=said.append)
    assert any("Waiting" in each for each in said)
    settled(client, reference)


@pytest.mark.parametrize("when", ["before", "after"])
def test_the_broker_is_killed(
    when: str, broker: Broker, client: Any, given: list[bytes], reference: dict[str, list[Any]]
) -> None:
    """At the second commit, and again at each that follows the restart."""
    put(client, given)
    running = feed(broker)
    commit, n_commits = running.commit, 0

    def killing(*arguments: Any) -> None:
        nonlocal n_commits
        n_commits += 1
        if n_commits % 2 == 0 and when == "before":
            broker.restart()
        commit(*arguments)
        if n_commits % 2 == 0 and when == "after":
            broker.restart()

    running.commit = killing
    run(running, schema(), settings())
    assert n_commits > 3
    settled(client, reference)


def broker_killed_at(nth: int, how: str, broker: Broker) -> list[str]:
    """The broker is killed and comes back when the n-th command is sent; what was noted."""
    import redis.connection as module

    original: Callable[..., Any] = module.AbstractConnection.send_packed_command
    n_sent = 0

    def sending(connection: Any, command: Any, *rest: Any, **named: Any) -> None:
        nonlocal n_sent
        n_sent += 1
        if n_sent == nth and how == "before":
            broker.restart()
        original(connection, command, *rest, **named)
        if n_sent == nth and how == "after":
            broker.restart()

    noted: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module.AbstractConnection, "send_packed_command", sending)
        stream(broker, status=StreamStatus(note=noted.append))
    return noted


@pytest.mark.parametrize("every", [19, pytest.param(3, marks=pytest.mark.slow)])
def test_the_broker_is_killed_at_a_command(
    every: int, broker: Broker, client: Any, given: list[bytes], reference: dict[str, list[Any]]
) -> None:
    """It was sent, and nobody knows whether it was carried out. (The first contact must succeed.)"""
    put(client, given)
    with sent_until(None, "before") as killer:
        stream(broker)
    noted = []
    for place, nth in enumerate(range(20, killer.calls - 4, every)):
        client.flushall()
        put(client, given)
        noted += broker_killed_at(nth, HOW[place % 2], broker)
        settled(client, reference)
    assert noted


@pytest.mark.slow
def test_the_broker_is_away_for_a_while(
    broker: Broker, client: Any, given: list[bytes], reference: dict[str, list[Any]]
) -> None:
    put(client, given[:80])
    told: queue.Queue[StreamStatus] = queue.Queue()
    working = threading.Thread(
        target=lambda: told.put(stream(broker, StreamEnding(idle=4.0), follow=True)), daemon=True
    )
    working.start()
    until = time.monotonic() + 60
    while not client.xlen("out") and time.monotonic() < until:
        time.sleep(0.05)
    broker.kill()
    time.sleep(0.5)
    broker.start()
    put(client, given[80:], 81)
    working.join(60)
    assert told.get(timeout=1).counts["waiting"] == 0
    settled(client, reference)


def test_no_broker(broker: Broker) -> None:
    from tclose.stream.feeds.redis_client import RedisKeys
    from tclose.stream.feeds.redis_feed import RedisFeed

    with pytest.raises(LostError, match="connection"):
        run(RedisFeed(schema(), "redis://127.0.0.1:1", RedisKeys("in", "out")), schema(), settings())


# Fast and slow.


@pytest.mark.slow
def test_bursts_and_trickles(broker: Broker, client: Any, given: list[bytes], reference: dict[str, list[Any]]) -> None:
    """Entries come one by one, in a burst, and one by one: cuts do not matter."""

    def produce() -> None:
        for number, line in enumerate(given, 1):
            put(client, [line], number)
            if number < 20 or number > 90:
                time.sleep(0.005)

    producing = threading.Thread(target=produce, daemon=True)
    producing.start()
    stream(broker, StreamEnding(idle=3.0), follow=True)
    producing.join()
    settled(client, reference)


@pytest.mark.slow
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.everyday(1)
def test_a_slow_consumer(
    grouped: bool, broker: Broker, client: Any, given: list[bytes], reference: dict[str, list[Any]]
) -> None:
    """Nobody reads: it waits. Then somebody does."""
    put(client, given)
    if grouped:
        client.xgroup_create("out", "readers", "0", mkstream=True)
    told: queue.Queue[StreamStatus] = queue.Queue()
    working = threading.Thread(target=lambda: told.put(stream(broker, max_pending=5)), daemon=True)
    working.start()
    read, longest, until = [], 0, time.monotonic() + 60
    while not (not told.empty() and not client.xlen("out")) and time.monotonic() < until:
        time.sleep(0.3)
        entries = client.xrange("out")
        longest = max(longest, len(entries))
        read += entries
        if grouped:
            client.xreadgroup("readers", "me", {"out": ">"}, noack=True)
        if entries:
            client.xdel("out", *(entry for entry, _ in entries))
    assert [json.loads(fields[b"row"]) for _, fields in read] == reference["out"]
    assert longest <= 5 + WINDOW + STEP


def test_entries_wait_in_redis_and_not_in_memory(broker: Broker, client: Any, given: list[bytes]) -> None:
    """What is read and not committed is bounded by a batch and a step."""
    put(client, given)
    running = feed(broker)
    running.open()
    running.begin(None)
    assert len(running.read().rows) == 0  # nothing was delivered before
    batch = running.read()
    assert len(batch.rows) == len(given)
    assert client.xpending("in", "tclose")["pending"] == len(given)
    running.commit(PendingOutcome(entries=[f"{number}-0" for number in range(1, 11)]), b"state")
    assert client.xpending("in", "tclose")["min"] == b"11-0"
    running.close()


# Two at once.


def test_a_second_consumer_is_kept_out(broker: Broker, client: Any) -> None:
    one, two = feed(broker), feed(broker, consumer="two", stop=lambda: True)
    one.open()
    assert run(two, schema(), settings()).counts == {}  # stopped while it waited
    one.close()
    two.open()
    two.close()


def test_a_run_that_was_overtaken_writes_nothing(broker: Broker, client: Any) -> None:
    one = feed(broker)
    one.open()
    one.begin(None)
    other = feed(broker)
    other.open()
    with pytest.raises(TableError, match="taken over"):
        one.commit(PendingOutcome(letters=[{"row": 1}]), b"state")
    assert client.get("in:tclose:checkpoint") is None
    assert client.xlen("out:rejected") == 0
    one.close()
    assert client.get("in:tclose:checkpoint:owner") == b"one"  # the other's
    other.close()
    assert client.get("in:tclose:checkpoint:owner") is None


def test_a_lease_that_ran_out_is_no_harm_by_itself(broker: Broker, client: Any) -> None:
    one = feed(broker, lease=0.05)
    one.open()
    one.begin(None)
    time.sleep(0.2)
    one.commit(PendingOutcome(), b"state")
    late = feed(broker, consumer="two")
    time.sleep(0.2)
    late.open()
    with pytest.raises(LostError, match="silent"):
        one.commit(PendingOutcome(), b"other")
    assert state(client) == b"state"
    late.close()


# Old copies, and outputs that are another's.


def paused_twice(broker: Broker, client: Any, given: list[bytes]) -> bytes:
    """A stream that stopped, released more and stopped again; its checkpoint in between."""
    put(client, given[:70])
    stream(broker, StreamEnding(pause=True))
    old: bytes = client.get("in:tclose:checkpoint")
    put(client, given[70:110], first=71)
    stream(broker, StreamEnding(pause=True))
    return old


def test_an_older_checkpoint_is_refused(
    broker: Broker, client: Any, given: list[bytes], reference: dict[str, list[Any]]
) -> None:
    old = paused_twice(broker, client, given)
    last = client.get("in:tclose:checkpoint")
    before = came_out(client)
    client.set("in:tclose:checkpoint", old)
    with pytest.raises(TableError, match=r"older copy.*Put the last checkpoint back"):
        stream(broker)
    assert came_out(client) == before
    client.set("in:tclose:checkpoint", last)
    put(client, given[110:], first=111)
    stream(broker)
    settled(client, reference)


def test_a_second_stream_with_the_same_output(broker: Broker, client: Any, given: list[bytes]) -> None:
    """Nothing is out yet when the other begins; and both begin at once."""
    put(client, given)
    one, two = feed(broker), feed(broker, group="other", certificates="more", ledger="others")
    for each in (one, two):
        each.open()
        each.begin(None)
    one.commit(PendingOutcome(), b"state")
    with pytest.raises(TableError, match="'out' is written by another stream"):
        two.commit(PendingOutcome(letters=[{"row": 1}]), b"other")
    assert client.get("in:other:checkpoint") is None
    two.close()
    client.xgroup_create("out", "readers", "0", mkstream=True)
    with pytest.raises(TableError, match="'out' belongs to another stream"):
        stream(broker, group="third", certificates="more", ledger="others")
    one.commit(PendingOutcome(letters=[{"row": 1}]), b"state")
    assert client.xlen("out:rejected") == 1
    one.close()


def test_entries_of_others_are_noticed(broker: Broker, client: Any, given: list[bytes]) -> None:
    put(client, given[:70])
    stream(broker, StreamEnding(pause=True))
    client.xtrim("out", 3)  # which readers may do
    stream(broker, StreamEnding(pause=True))
    client.xadd("out", {"row": "{}"})
    with pytest.raises(TableError, match="'out' has entries that the checkpoint does not know of") as caught:
        stream(broker)
    assert "put the output back as it was. If that cannot be done, begin a new stream" in str(caught.value)


def test_a_mark_that_is_gone_or_older(broker: Broker, client: Any, given: list[bytes]) -> None:
    put(client, given[:70])
    stream(broker, StreamEnding(pause=True))
    for wrong, match in (
        (None, "is gone"),
        (b"x", "is damaged"),
        (b'{"stream": "x", "generation": 2}', "another stream"),
    ):
        kept = client.get("out:stream")
        client.delete("out:stream") if wrong is None else client.set("out:stream", wrong)
        with pytest.raises(TableError, match=match):
            stream(broker)
        client.set("out:stream", kept)
    client.set("out:stream", json.dumps({**json.loads(kept), "generation": 1}))
    with pytest.raises(TableError, match="older than the checkpoint"):
        stream(broker)


# What is wrong from the start.


def test_keys_of_another_type(broker: Broker, client: Any, given: list[bytes]) -> None:
    client.set("out", "something")
    put(client, given)
    with pytest.raises(TableError, match="'out' is a string"):
        stream(broker)


def test_a_key_that_changes_its_type_stops_the_commit(broker: Broker, client: Any) -> None:
    """Within a transaction one failed command does not undo the others."""
    one = feed(broker)
    one.open()
    one.begin(None)
    client.set("out:rejected", "something")
    with pytest.raises(TableError, match="must be a stream"):
        one.commit(PendingOutcome(letters=[{"row": 1}]), b"state")
    assert client.get("in:tclose:checkpoint") is None
    one.close()


def test_names_must_differ() -> None:
    from tclose.stream.feeds.redis_client import RedisKeys

    with pytest.raises(SchemaError, match="different names"):
        RedisKeys("in", "in").settled()


def test_entries_deleted_after_delivery_are_told(broker: Broker, client: Any, given: list[bytes]) -> None:
    put(client, given)
    stream(broker, StreamEnding(stop=lambda: True))
    one = feed(broker)
    one.open()
    one.begin(None)
    one.read(), one.read()
    client.xdel("in", "3-0")
    said: list[str] = []
    stream(broker, say=said.append)
    assert any("1 entries were deleted" in each for each in said)


def test_a_checkpoint_that_is_gone_takes_no_row_along(broker: Broker, client: Any, given: list[bytes]) -> None:
    """What is not out is pending: a new stream reads it again, and what is out is not read again."""
    put(client, given[:70])
    stream(broker, StreamEnding(pause=True))
    waiting = client.xpending("in", "tclose")["pending"]
    out = came_out(client)
    assert 0 < waiting == 70 - len(out["out"]) - len(out["rejected"])
    client.delete("in:tclose:checkpoint")
    with pytest.raises(TableError, match=r"'out' has entries already.* another --to"):
        stream(broker)
    put(client, given[70:], first=71)
    with pytest.raises(TableError, match=r"'certificates' has entries already"):
        stream(broker, to="again")
    status = stream(broker, to="again", certificates="more", ledger="other")
    assert status.counts["rows"] == len(given) - 70 + waiting
    ids = [json.loads(fields[b"row"])["id"] for _, fields in client.xrange("out") + client.xrange("again")]
    entries = [fields[b"entry"] for name in ("out", "again") for _, fields in client.xrange(f"{name}:rejected")]
    assert len(set(ids)) == len(ids)
    assert len(set(entries)) == len(entries) == len(given) - len(ids)
    assert client.xpending("in", "tclose")["pending"] == 0


def test_entries_are_acknowledged_when_their_rows_are_out(broker: Broker, client: Any, given: list[bytes]) -> None:
    put(client, given[:70])
    stream(broker, StreamEnding(pause=True))
    pending = [each["message_id"] for each in client.xpending_range("in", "tclose", "-", "+", 1000)]
    rows = {f"{number}-0".encode(): json.loads(line) for number, line in enumerate(given, 1) if line.startswith(b"{")}
    waiting = {rows[entry]["id"] for entry in pending}
    assert waiting
    assert waiting.isdisjoint(row["id"] for row in came_out(client)["out"])


def test_a_group_that_is_there_may_be_used(
    broker: Broker, client: Any, given: list[bytes], reference: dict[str, list[Any]]
) -> None:
    client.xgroup_create("in", "tclose", "0", mkstream=True)
    client.xgroup_create("out", "readers", "0", mkstream=True)
    put(client, given)
    stream(broker)
    settled(client, reference)


def test_a_group_set_back_is_read_on_from_where_it_was(
    broker: Broker, client: Any, given: list[bytes], reference: dict[str, list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tclose.stream.feeds.redis_feed.MOST_ROWS", 7)
    put(client, given[:50])
    stream(broker, StreamEnding(pause=True))
    client.xgroup_setid("in", "tclose", "0")
    put(client, given[50:], first=51)
    stream(broker)
    settled(client, reference)


@pytest.mark.parametrize("other", [{"field": "klass"}, {"json_field": "other"}])
def test_fields_stay_as_they_are(broker: Broker, client: Any, given: list[bytes], other: dict[str, Any]) -> None:
    put(client, given)
    stream(broker, StreamEnding(pause=True))
    with pytest.raises(TableError, match=r"another (class|json)-field"):
        stream(broker, **other)


# By the command line, killed in earnest.


@pytest.mark.slow
def test_kill_9(
    tmp_path: Path, broker: Broker, client: Any, given: list[bytes], reference: dict[str, list[Any]]
) -> None:
    for at, how in ((21, "after"), (30, "torn")):
        client.flushall()
        put(client, given)
        assert stream_redis(tmp_path, broker.url, at, how) == -signal.SIGKILL
        assert stream_redis(tmp_path, broker.url) == 0
        settled(client, reference)
