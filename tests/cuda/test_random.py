"""Random numbers on CUDA, by kernels of our own: bit for bit the CPU's."""

from pathlib import Path

from .fake import WITH_CUPY, run
from .shim import Shim


def test_sequences_are_the_cpus(fake_driver: Path, shim: Shim) -> None:
    """Odd counts leave half a block of Philox; 100,001 normal numbers come from the middle and both tails."""
    told = run(
        fake_driver,
        WITH_CUPY
        + """
def drawn(device):
    rt.manual_seed(7)
    made = []
    for n in (1, 5, 100_001):
        for dtype in ("float32", "float64", "float16"):
            x = rt.empty(n, dtype=dtype, device=device)
            made += [rt.rand(n, dtype=dtype, device=device), rt.randn(n, dtype=dtype, device=device),
                     x.clone().uniform_(-3, 5), x.clone().normal_(2, 0.5), x.clone().exponential_(1.5),
                     x.clone().bernoulli_(0.3)]
        made += [rt.randint(-5, 1000, (n,), device=device), rt.empty(n, dtype="bool", device=device).bernoulli_(0.7),
                 rt.empty(n, dtype="int64", device=device).random_(-(2**63), 2**63 - 1)]
    return [m.cpu().numpy().tobytes() for m in made]
told = [a == b for a, b in zip(drawn("cpu"), drawn("cuda"), strict=True)]
""",
        shim,
    )
    assert told == [True] * 63


def test_a_kernel_makes_them_and_nothing_is_copied(fake_driver: Path, shim: Shim) -> None:
    told = run(
        fake_driver,
        WITH_CUPY
        + """
rt.zeros(1, device="cuda")
count = lambda: [calls("cuLaunchKernel"), calls("cuMemcpyAsync")]
before = count()
x = rt.randn(1000, device="cuda")
rt.rand(0, device="cuda")
told = [after - b for after, b in zip(count(), before)]
""",
        shim,
    )
    assert told == [1, 0]
