"""What C++ cannot make: a coroutine."""

from asyncio import Future
from collections.abc import Callable
from typing import Any


async def waits_for(begin: Callable[[], "Future[Any]"]) -> Any:
    """Begins when it is awaited, or when a task has it."""
    return await begin()
