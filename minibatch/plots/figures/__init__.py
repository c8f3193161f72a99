"""Each figure in a file of its own. They are loaded from `minibatch.plots` when first asked for."""
