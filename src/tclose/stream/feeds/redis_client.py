"""A connection to Redis that tries nothing twice, the names of things in it, and its errors as ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tclose.errors import MissingExtraError, SchemaError, TableError
from tclose.stream.feeds.feed import LostError

GONE = "Redis cannot be reached, or the connection to it was lost."
PASSING = {
    "NOGROUP",
    "UNBLOCKED",
    "OOM",
    "EXECABORT",
    "Transaction",
    "MISCONF",
    "LOADING",
    "BUSY",
    "MASTERDOWN",
    "TRYAGAIN",
}


@dataclass(frozen=True)
class RedisKeys:
    """The names under which things lie in Redis.

    Attributes
    ----------
    source, to
        The streams to read and to write.
    group
        The consumer group of the one that is read.
    rejected
        The stream of dead letters.
    certificates, ledger
        Streams of certificates and of the rows of each class; None for none.
    checkpoint
        Where the checkpoint lies; with `:owner` and `:fence` after it, who works, and which run it is.
        Beside all that is written, with `:stream` after it, lies whose it is.
    """

    source: str
    to: str
    group: str = "tclose"
    rejected: str = ""
    certificates: str | None = None
    ledger: str | None = None
    checkpoint: str = ""

    def settled(self) -> RedisKeys:
        """With names made from the others where none is given.

        Raises
        ------
        SchemaError
            Two are the same.
        """
        rejected = self.rejected or f"{self.to}:rejected"
        checkpoint = self.checkpoint or f"{self.source}:{self.group}:checkpoint"
        keys = RedisKeys(self.source, self.to, self.group, rejected, self.certificates, self.ledger, checkpoint)
        marks = map(keys.mark, keys.written())
        names = [name for name in (*vars(keys).values(), keys.owner, keys.fence, *marks) if name is not None]
        names.remove(self.group)
        if len(set(names)) < len(names):
            raise SchemaError("The streams of Redis and the checkpoint must have different names.")
        return keys

    def types(self) -> dict[str, str]:
        """What each key must be, if it is there."""
        streams = dict.fromkeys((self.source, *self.written()), "stream")
        return {**streams, **dict.fromkeys((self.checkpoint, *map(self.mark, self.written())), "string")}

    def written(self) -> list[str]:
        """The streams that are written to."""
        return [name for name in (self.to, self.rejected, self.certificates, self.ledger) if name is not None]

    def mark(self, key: str) -> str:
        """Where it is noted whose a stream is that is written to."""
        return f"{key}:stream"

    @property
    def owner(self) -> str:
        """The consumer that works, for as long as its lease lasts."""
        return f"{self.checkpoint}:owner"

    @property
    def fence(self) -> str:
        """How many runs there were."""
        return f"{self.checkpoint}:fence"


def order(entry: str) -> tuple[int, int]:
    """The id of an entry as numbers: `12-3` is (12, 3)."""
    first, _, second = entry.partition("-")
    return int(first), int(second.split(".")[0] or 0)


def exceptions() -> Any:
    """The errors of the client library."""
    try:
        import redis.exceptions
    except ImportError:
        raise MissingExtraError("redis", "stream", "A stream of Redis") from None
    return redis.exceptions


def connected(url: str) -> Any:
    """A client that tries nothing twice: an entry may have been delivered by the first try."""
    exceptions()
    from redis import Redis
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    client: Any = Redis.from_url(
        url, protocol=2, retry=Retry(NoBackoff(), 0), socket_timeout=30, socket_connect_timeout=5
    )
    for command in ("XREADGROUP", "XAUTOCLAIM", "XPENDING", "XINFO GROUPS", "XINFO CONSUMERS"):
        client.set_response_callback(command, lambda reply, **_: reply)
    return client


@contextmanager
def guarded() -> Iterator[None]:
    """Turn errors of Redis into ours, without what they quote."""
    errors = exceptions()
    refused: Exception
    try:
        yield
        return
    except (errors.AuthenticationError, errors.AuthorizationError):
        refused = TableError("Redis does not accept the user or password of --redis.")
    except (errors.ConnectionError, errors.TimeoutError, errors.ReadOnlyError, errors.WatchError):
        refused = LostError(GONE)  # a connection lost while a key is watched is told as a change of the key
    except errors.ResponseError as error:
        code = (str(error).split() or ["?"])[0]
        later = LostError(f"Redis cannot do it now ({code}).")
        refused = later if code in PASSING else TableError(f"Redis refuses a command ({code}).")
    raise refused
