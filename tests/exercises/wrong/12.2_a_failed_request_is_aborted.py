"""Aborts a request that the engine has ended with an exception.

caught by: test_an_exception_of_the_engine_is_passed_on
code: aborts_after_the_end
"""

import asyncio


async def answer(tokens, send, hung_up, abort, stream):
    ended = False

    async def deliver():
        nonlocal ended
        texts = []
        async for text in tokens:
            texts.append(text)
            if stream:
                await send(text)
        ended = True
        if not stream:
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
    if not work.cancelled() and not isinstance(work.exception(), ConnectionError):
        work.result()
