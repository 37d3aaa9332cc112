"""What a model can promise of documents like those of training: sets of classes that hold the truth, and answers of a given precision."""
