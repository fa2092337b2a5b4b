"""Which examples of the rules hold on which version of torch: each is run under Dynamo there."""
