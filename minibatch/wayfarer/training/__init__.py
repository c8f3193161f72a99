"""The code that made Wayfarer: corpus, tokenizer, training, and the numbers on its model card.

answers.py       true answers to questions about the world
corpus.py        conversations: questions with their answers
tokenizer.py     byte-level BPE with 2,048 entries and a chat template
rows.py          the corpus as rows of tokens
sizes.py         the sizes of Wayfarer and Wayfarer Junior
optimizers.py    Muon and AdamW
training_run.py  the training itself
export.py        the result in Hugging Face format
evaluation.py    how often Wayfarer's answers are right
acceptance.py    how often Wayfarer accepts Junior's draft tokens
generate.py      answers from the course's own engine
model_card.py    the model cards
find_example.py  the search for the course's running example
"""
