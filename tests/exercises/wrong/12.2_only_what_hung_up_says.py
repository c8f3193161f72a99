"""Goes on when a send fails, and waits for hung_up.

caught by: test_a_hang_up_during_a_send_ends_it_too
code: failed_send_without_abort
"""

import asyncio
import contextlib


async def answer(tokens, send, hung_up, abort, stream):
    ended = False

    async def deliver():
        nonlocal ended
        texts = []
        try:
            async for text in tokens:
                texts.append(text)
                if stream:
                    with contextlib.suppress(ConnectionError):
                        await send(text)
        except Exception:
            ended = True
            raise
        ended = True
        if not stream:
            with contextlib.suppress(ConnectionError):
                await send("".join(texts))

    work, gone = asyncio.ensure_future(deliver()), asyncio.ensure_future(hung_up())
    try:
        await asyncio.wait([work, gone], return_when=asyncio.FIRST_COMPLETED)
    finally:
        work.cancel()
        gone.cancel()
        await asyncio.wait([work, gone])
        if not ended:
            abort()
    if not work.cancelled():
        work.result()
