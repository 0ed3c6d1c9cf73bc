"""Many runs: experiments, their scores and what these tell."""
