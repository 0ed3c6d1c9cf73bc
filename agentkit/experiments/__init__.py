"""Many runs: experiments over cases and variants, and what their scores tell."""
