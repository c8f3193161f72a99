"""All that touches transformers: a model loaded, checked, run over a plan, and its tokens as text.

    load.py            load_model, and what an engine needs to know of a model
    source.py          where its files are: a folder, the hub; or why there is none
    compatibility.py   what we would compute wrongly is refused, by name and reason
    registration.py    how transformers' models come to call our attention
    runner.py          one forward pass for all rows, laid end to end
    graphs.py          decode steps recorded once and replayed, on a GPU
    sampling.py        from logits to tokens
    text.py            from tokens to text, never half a character

Nothing is loaded until it is asked for: importing transformers' models takes seconds.
"""
