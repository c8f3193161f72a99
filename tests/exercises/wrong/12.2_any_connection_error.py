"""Takes a ConnectionError of the engine for one of the client.

caught by: test_an_exception_of_the_engine_is_passed_on
code: swallows_the_exception
"""

import asyncio


async def answer(tokens, send, hung_up, abort, stream):
    ended = False

    async def pieces():
        nonlocal ended
        try:
            async for text in tokens:
                yield text
        except Exception:
            ended = True
            raise
        ended = True

    async def deliver():
        try:
            if stream:
                async for text in pieces():
                    await send(text)
            else:
                await send("".join([text async for text in pieces()]))
        except ConnectionError:
            pass

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
