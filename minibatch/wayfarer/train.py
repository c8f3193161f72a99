"""`python -m minibatch.wayfarer.train`: the training is in training/training_run.py."""

from minibatch.wayfarer.training.training_run import main

if __name__ == "__main__":
    main()
