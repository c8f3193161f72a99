"""`python -m minibatch.wayfarer.evaluate`: the examination is in training/evaluate.py."""

from minibatch.wayfarer.training.evaluate import main

if __name__ == "__main__":
    main()
