"""A TaskGroup: what tokens raises comes in an ExceptionGroup.

caught by: test_an_exception_of_the_engine_is_passed_on
code: wraps_the_exception
"""

import asyncio


class Gone(Exception):
    pass


async def answer(tokens, send, hung_up, abort, stream):
    ended = False

    async def sent(text):
        try:
            await send(text)
        except ConnectionError:
            raise Gone from None

    async def deliver():
        nonlocal ended
        texts = []
        try:
            async for text in tokens:
                texts.append(text)
                if stream:
                    await sent(text)
        except Gone:
            raise
        except Exception:
            ended = True
            raise
        ended = True
        if not stream:
            await sent("".join(texts))
        watching.cancel()

    async def watch():
        await hung_up()
        raise Gone

    try:
        async with asyncio.TaskGroup() as group:
            watching = group.create_task(watch())
            group.create_task(deliver())
    except* Gone:
        pass
    finally:
        if not ended:
            abort()
