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
    if trouble := metadata.get("torchTrouble"):
        sentences.append(f"PyTorch's ops are not all here: {trouble}.")
    shed = metadata.get("shed")
    if isinstance(shed, list) and shed:
        sentences.append(f"To keep to its budget the profile left out {' and '.join(map(str, shed))} after a while.")
    return tuple(sentences)
