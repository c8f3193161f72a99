"""Keeps in a variable of the module whether tokens has ended.

caught by: test_any_answer_and_several_at_once
code: returns_without_abort
"""

import asyncio

ended = False


async def answer(tokens, send, hung_up, abort, stream):
    global ended
    ended = False

    async def sent(text):
        try:
            await send(text)
        except ConnectionError:
            return False
        return True

    async def deliver():
        global ended
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
