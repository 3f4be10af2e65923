"""Dropped files: streamed to a private file, piece by piece, within a limit of size and of patience."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

from starlette.requests import ClientDisconnect, Request

from tclose.app.gate import Refused
from tclose.app.texts import said
from tclose.release.atomic import write_all

PATIENCE = 20.0  # seconds between two pieces of a file


async def receive_file(request: Request, path: Path, most: int) -> int:
    """Write what is sent to a new file that only its owner can read; its bytes. Nothing is left if it fails.

    Raises
    ------
    Refused
        It is larger than allowed, comes too slowly, is empty, or the disk is full.
    """
    try:
        told = request.headers.get("content-length", "")
        if told and (not told.isdigit() or int(told) > most):
            raise Refused(413, said("large_file", most=f"{most:,}"))
        size = await _write(request.stream(), path, most)
        if not size:
            raise Refused(400, said("empty_file"))
        return size
    except BaseException:
        shutil.rmtree(path.parent, ignore_errors=True)
        raise


async def _write(pieces: AsyncIterator[bytes], path: Path, most: int) -> int:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    size = 0
    try:
        while True:
            piece = await asyncio.wait_for(anext(pieces, None), PATIENCE)
            if piece is None:
                return size
            size += len(piece)
            if size > most:
                raise Refused(413, said("large_file", most=f"{most:,}"))
            write_all(descriptor, piece)
    except TimeoutError:
        raise Refused(408, said("slow_file")) from None
    except ClientDisconnect:
        raise Refused(400, said("part_of_file")) from None
    except OSError:
        raise Refused(507, said("full_disk")) from None
    finally:
        os.close(descriptor)
