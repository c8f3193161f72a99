"""Waits for the next piece or a hang-up, but for a send alone.

caught by: test_a_hang_up_during_a_send_ends_it_too
code: hang_up_during_a_send
"""

import asyncio


async def answer(tokens, send, hung_up, abort, stream):
    gone = asyncio.ensure_future(hung_up())
    texts, ended, piece = [], False, None
    try:
        while True:
            piece = asyncio.ensure_future(anext(tokens))
            await asyncio.wait([piece, gone], return_when=asyncio.FIRST_COMPLETED)
            if not piece.done():
                return
            try:
                texts.append(piece.result())
            except StopAsyncIteration:
                ended = True
                break
            except Exception:
                ended = True
                raise
            if stream:
                try:
                    await send(texts[-1])
                except ConnectionError:
                    return
        if not stream:
            try:
                await send("".join(texts))
            except ConnectionError:
                return
    finally:
        gone.cancel()
        if piece is not None:
            piece.cancel()
        if not ended:
            abort()
