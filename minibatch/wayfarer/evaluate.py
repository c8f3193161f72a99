"""`python -m minibatch.wayfarer.evaluate`: the examination is in training/evaluation.py."""

from minibatch.wayfarer.training.evaluation import main

if __name__ == "__main__":
    main()
