"""Many runs: an experiment runs cases with several agents, scores the results, and shows what comes out."""
