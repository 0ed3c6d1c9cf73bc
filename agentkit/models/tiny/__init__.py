"""A real language model, as small as they come: trained by train.py on the transcripts that transcripts.py invents.

model.py is the model as an agent uses it; prompt.py says what it reads. generation.py writes token after token, with
the network of transformer.py, the vocabulary of tokenizer.py and the files of weights.py. evaluate.py measures it.
"""

from agentkit.models.tiny.model import Tiny

__all__ = ["Tiny"]
