"""What a trace lacks of what happened, by its own metadata."""

from collections.abc import Mapping

from ..trace import Json


def lacks(metadata: Mapping[str, Json]) -> tuple[str, ...]:
    """A sentence for each thing."""
    sentences = []
    dropped = metadata.get("droppedEvents")
    if isinstance(dropped, int) and dropped:
        limit = metadata.get("maxEvents")
        known = f" (max_events was {limit:,})" if isinstance(limit, int) else ""
        sentences.append(f"{dropped:,} events were dropped{known}: what is told here is of the others.")
    return tuple(sentences)
