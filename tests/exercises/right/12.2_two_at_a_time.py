"""Each thing that it waits for is raced against the hang-up."""

import asyncio
import contextlib


class HungUp(Exception):
    pass


async def answer(tokens, send, hung_up, abort, stream):
    gone = asyncio.ensure_future(hung_up())

    async def unless_gone(awaitable):
        task = asyncio.ensure_future(awaitable)
        try:
            await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not task.done():
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
        if task.cancelled():
            raise HungUp
        return task.result()

    async def sent(text):
        try:
            await unless_gone(send(text))
        except ConnectionError:
            raise HungUp from None

    in_engine, pieces = True, []
    try:
        while in_engine:
            try:
                pieces.append(await unless_gone(anext(tokens)))
            except StopAsyncIteration:
                in_engine = False
            except HungUp:
                raise
            except Exception:
                in_engine = False
                raise
            else:
                if stream:
                    await sent(pieces[-1])
        if not stream:
            await sent("".join(pieces))
    except HungUp:
        pass
    finally:
        gone.cancel()
        if in_engine:
            abort()
