"""The ops of cases_prologue.py have their references elsewhere."""

from reference import *  # noqa: F403
