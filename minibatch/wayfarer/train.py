"""`python -m minibatch.wayfarer.train`: the training is in training/train.py."""

from minibatch.wayfarer.training.train import main

if __name__ == "__main__":
    main()
