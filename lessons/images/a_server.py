"""The picture at the head of lesson 12: one streamed answer, from request to last token."""

import openai
from matplotlib.figure import Figure

import minibatch as mb


def a_server() -> Figure:
    """Times of one request at its client, at the server's socket and in the engine. How long it
    takes is for the lesson."""
    engine = mb.Engine(mb.load_model("wayfarer"), mb.Continuous(8))
    with mb.Server(engine) as server:
        client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="none")
        question = {"role": "user", "content": "Where should Rosa have dinner in Marrakesh?"}
        for _ in range(3):  # the first ones import and compile
            arrived, sent = [], engine.clock.now()
            for chunk in client.chat.completions.create(
                model=server.name, messages=[question], max_tokens=9, temperature=0, stream=True
            ):
                if chunk.choices[0].delta.content:
                    arrived.append(engine.clock.now())
    written = server.written[-1]  # the server has ended, so the last one is there
    if any(there < gone for there, gone in zip(arrived, written.times, strict=False)):
        raise RuntimeError("a token was at the client before its write; draw the picture again")
    figure = mb.plots.token_way(
        sent, written.received, engine.trace.completions[-1], written.times, arrived
    )
    (length,) = (text for text in figure.axes[0].texts if text.get_text().startswith("TTFT"))
    length.set_text("TTFT, as the client sees it")
    title = "One request and its first tokens, at three places"
    figure.axes[0].set_title(title, loc="left", fontsize=15)
    return figure
