"""Everything that imports transformers: load a model, check it, run a plan, decode its tokens.

    load.py            load_model, and Model: what an engine needs to know about a model
    location.py        finds a model's files, in a folder or on the hub; explains why there are none
    compatibility.py   refuses a model that the engine would compute wrongly, by name and reason
    registration.py    how transformers' models call our attention
    runner.py          one forward pass for all rows, laid end to end
    llama.py           a faster forward pass for a small Llama on a CPU
    graphs.py          decode steps recorded once and replayed, on a GPU
    launched.py        a step that was begun, and whose tokens are taken later
    sampling.py        from logits to tokens
    text.py            from tokens to text, never half a character
    rectangle.py       a padded batch, as transformers takes it: for lesson 02

A file is imported when it is first used: importing transformers' models takes seconds.
"""
