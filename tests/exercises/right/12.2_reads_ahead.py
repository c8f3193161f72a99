"""A reader fills a queue; a sender empties it."""

import asyncio

END = object()


async def answer(tokens, send, hung_up, abort, stream):
    queue, state = asyncio.Queue(), {"ended": False}

    async def read():
        try:
            async for text in tokens:
                queue.put_nowait(text)
        finally:
            state["ended"] |= not isinstance(error_now(), asyncio.CancelledError)
            queue.put_nowait(END)

    def error_now():
        import sys

        return sys.exc_info()[1]

    async def deliver():
        texts = []
        while (text := await queue.get()) is not END:
            if stream:
                await send(text)
            else:
                texts.append(text)
        await reader
        if not stream:
            await send("".join(texts))

    reader = asyncio.create_task(read())
    sender, gone = asyncio.create_task(deliver()), asyncio.create_task(hung_up())
    everything = {reader, sender, gone}
    try:
        await asyncio.wait({sender, gone}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        if not state["ended"]:
            abort()
        for task in everything:
            task.cancel()
        await asyncio.gather(*everything, return_exceptions=True)
    if not reader.cancelled() and reader.exception() is not None:
        raise reader.exception()
