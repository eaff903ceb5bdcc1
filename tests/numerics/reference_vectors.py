"""References of the ops of cases_vectors.py: those of the scatters."""

from reference_scatter import *  # noqa: F403
