"""Looks for a hang-up when a piece has come.

caught by: test_a_hang_up_ends_the_request_in_the_engine
code: notices_late
"""

import asyncio


async def answer(tokens, send, hung_up, abort, stream):
    gone = asyncio.ensure_future(hung_up())
    texts = []
    try:
        async for text in tokens:
            if gone.done():
                abort()
                return
            texts.append(text)
            if stream:
                try:
                    await send(text)
                except ConnectionError:
                    abort()
                    return
        if not stream:
            try:
                await send("".join(texts))
            except ConnectionError:
                return
    except asyncio.CancelledError:
        abort()
        raise
    finally:
        gone.cancel()
