"""Learns of a hang-up from a failing send alone.

caught by: test_a_hang_up_ends_the_request_in_the_engine
code: notices_late
"""


async def answer(tokens, send, hung_up, abort, stream):
    texts, ended = [], False
    try:
        async for text in tokens:
            texts.append(text)
            if stream:
                try:
                    await send(text)
                except ConnectionError:
                    return
        ended = True
    except Exception:
        ended = True
        raise
    finally:
        if not ended:
            abort()
    if not stream:
        try:
            await send("".join(texts))
        except ConnectionError:
            return
