"""Where to put torch.compile in a model, from a run that counts compilations."""
