"""Streams: t-closeness over a sliding window, without files, brokers or clocks.

    engine = Engine(schema, window=20_000, step=5_000, method="sabre-ak", seed=7)
    for outcome in engine.feed(batch):       # a polars frame, or a list of dicts; of any size
        ...
    for outcome in engine.finish():          # the end of the stream
        ...

An `Outcome` is what came out at once, in three tuples, each of which may be empty:

`outcome.released` of `Released`
    Classes close to one window. `frame` holds their rows, generalized, a class after the other;
    `classes` the class number of each row, to be published beside it, as is `certificate(place)` of each
    class. All else is for bookkeeping and never to be published: `numbers`, the input number of each row;
    `window`, the first and last input number of the window; `case`, whether they are `direct` or `indirect`;
    `entry(place)`, all that as a line of the ledger, with how far the class is from its window. Iterating
    gives one `ReleasedClass` each.
`outcome.rejected` of `Rejected`
    Rows that do not fit the schema: `numbers`, `column` and `reason`, never a value.
`outcome.withheld` of `Withheld`
    Rows that cannot be released under the guarantee: `numbers` and `reason`.

Every input row comes out in one of them, exactly once. Input rows are numbered from 0 in the order
they are fed, rejected ones included; `engine.position` is the number of the next. While `feed` is
iterated, rows are taken in step by step, so `engine.position` and `engine.checkpoint()` are right
between any two outcomes: who makes an outcome and the checkpoint after it durable together goes on
after a crash with `Engine.restore(schema, data)` and the rows from `engine.position` on. What comes out
depends on the seed and the order of rows alone, not on how they are cut into batches, nor on where
it was restored.

`engine.certificate()` says what is promised of all classes, and `engine.counts` how many rows became
what. `Checker` replays input and output; from what was written, a `Released` is made again with
`claimed(entries)` of the ledger as its `distances`.
"""

from __future__ import annotations

from tclose.stream.check import Checker
from tclose.stream.engine import Engine
from tclose.stream.items import Outcome, Rejected, Released, ReleasedClass, Window, Withheld, claimed

__all__ = ["Checker", "Engine", "Outcome", "Rejected", "Released", "ReleasedClass", "Window", "Withheld"]
__all__ += ["claimed"]
