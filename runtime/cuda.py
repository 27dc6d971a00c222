"""Whether there are CUDA devices to compute on: this runtime has the CPU alone."""


def is_available() -> bool:
    """False: tensors live on the CPU."""
    return False


def device_count() -> int:
    """0: tensors live on the CPU."""
    return 0
