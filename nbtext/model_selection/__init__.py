"""How well a kind of model does, and which of two does better: resampling, learning curves, comparison."""
