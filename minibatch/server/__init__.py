"""An engine behind OpenAI's HTTP API, on one machine.

    command.py        `python -m minibatch serve`: flags to an engine and a server
    server.py         `mb.Server`: threads and a port of its own
    app.py            the routes; a request's way from the body to the answer
    backend.py        what answers a request: here one engine; ray_serve/ has replicas
    connection.py     a time limit for a request's head
    guards.py         what is refused before a body is read: Host, API key, content type
    parameters.py     one JSON body's fields, taken one by one; what is left over is refused
    protocol.py       OpenAI's parameters to our requests
    errors.py         OpenAI's error JSON
    answers.py        what the engine thread delivers to the event loop, for one HTTP request
    engine_thread.py  the one thread that uses the engine
    choices.py        the live choices of all HTTP requests: forks, ends, what a step brought
    exchange.py       one answer on its way to the socket
    isolation.py      after an exception in a forward pass: which row raised it
    chat.py           the messages of a chat, as a prompt
    stop_strings.py   ends a text at a stop string, and never shows half of one
    replies.py        answers as OpenAI's JSON, whole or as server-sent events
    metrics.py        Prometheus metrics by vLLM's names; grafana.json draws them

Two threads meet here. The event loop reads and writes sockets; the engine thread steps the engine.
Each sends the other one message a step, and neither waits for a lock that the other may hold long.
"""
