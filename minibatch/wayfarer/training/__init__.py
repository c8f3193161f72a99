"""What made Wayfarer: the corpus, the tokenizer, the training, and the figures on its card.

answers.py     true answers to questions about the world
corpus.py      conversations: questions with their answers
tokenizer.py   byte-level BPE with 2,048 entries and a chat template
rows.py        the corpus as rows of tokens     optimizers.py  what updates the weights
train.py       the training itself              export.py      the result in Hugging Face format
evaluate.py    how often it is right            generate.py    its answers, by the engine
card.py        the model card                   find_example.py  the course's running example
"""
