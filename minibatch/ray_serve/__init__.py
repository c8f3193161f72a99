"""Several engines behind one address, on Ray Serve: Ray's processes, our engine and routers.

    command.py    `python -m minibatch serve --replicas N`
    ray_server.py `RayServer`: replicas behind one address, on this computer
    cluster.py    starts Ray on this computer, and ends it; or says what failed, in Ray's words
    deploy.py     the application: how many replicas, what each needs; for `serve run` too
    serve.yaml    the same, as the file that `serve deploy` takes on a cluster
    settings.py   what an engine of a replica is made with; plain values, as YAML has them
    ingress.py    reads requests, as the server does, and passes them on
    relay.py      one answer, from a replica to its client; asked for again if its replica dies
    call.py       what the ingress and a replica say to each other
    replica.py    one engine, in a process of its own
    routing.py    our router as one of Ray's: who gets the next request
    views.py      what our router knows of each replica: a report, and what was sent since
    report.py     what a replica reports of itself
    live.py       `live()`: record.py in .venv-ray, from a notebook
    record.py     two replicas under traffic, one killed: makes recorded.json, for the lesson
    compare.py    Ray's own prefix router against ours: makes compared.json

A request's way: Ray's HTTP proxy, the ingress, the router there, a replica; its tokens go back the
same way. Only files of this room import ray, and only when it is used.
"""

from .live import live

__all__ = ["live"]
