"""The order of commits."""

from collections.abc import Iterable, Mapping


def ancestors_first(commits: Iterable[str], behind: Mapping[str, int]) -> list[str]:
    """Commits, which come in the order of their first runs, so that each stands after its ancestors.

    `behind` is how many commits each has behind it, of those that git told of; the others stay where they are.
    """
    commits = list(commits)
    known = iter(sorted((commit for commit in commits if commit in behind), key=behind.__getitem__))
    return [next(known) if commit in behind else commit for commit in commits]
