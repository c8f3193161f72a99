"""One task reads and sends; a watcher cancels it when the client hangs up."""

import asyncio


async def answer(tokens, send, hung_up, abort, stream):
    me, hung = asyncio.current_task(), False
    ended, texts = False, []

    async def watch():
        nonlocal hung
        await hung_up()
        hung = True
        me.cancel()

    watching = asyncio.create_task(watch())
    try:
        while True:
            try:
                text = await anext(tokens)
            except StopAsyncIteration:
                ended = True
                break
            except Exception:
                ended = True
                raise
            texts.append(text)
            if stream:
                try:
                    await send(text)
                except ConnectionError:
                    return
        if not stream:
            try:
                await send("".join(texts))
            except ConnectionError:
                return
    except asyncio.CancelledError:
        if not hung or me.uncancel():
            raise
    finally:
        watching.cancel()
        if not ended:
            abort()
