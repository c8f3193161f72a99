"""A task for tests of the judge: a function in a file."""

from minibatch.course.exercises import source

TASK = source.Task("3.1", "When is a batch ready", "ex03_dynamic_batching", solution="x")
