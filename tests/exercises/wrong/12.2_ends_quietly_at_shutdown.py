"""Takes a cancellation for a hang-up, and returns.

caught by: test_a_shutdown_aborts_and_passes_on_the_cancellation
code: swallows_the_cancellation
"""

import asyncio
import contextlib


async def answer(tokens, send, hung_up, abort, stream):
    ended = False

    async def sent(text):
        try:
            await send(text)
        except ConnectionError:
            return False
        return True

    async def deliver():
        nonlocal ended
        texts = []
        try:
            async for text in tokens:
                texts.append(text)
                if stream and not await sent(text):
                    return
        except Exception:
            ended = True
            raise
        ended = True
        if not stream:
            await sent("".join(texts))

    work, gone = asyncio.ensure_future(deliver()), asyncio.ensure_future(hung_up())
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.wait([work, gone], return_when=asyncio.FIRST_COMPLETED)
    work.cancel()
    gone.cancel()
    await asyncio.wait([work, gone])
    if not ended:
        abort()
    if not work.cancelled():
        work.result()
