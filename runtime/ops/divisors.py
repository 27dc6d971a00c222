"""Common divisors and multiples of integers, element by element."""

from ..registry import pointwise


@pointwise(source=None, kinds="i", differentiable=False)
def gcd(xp, a, b):
    """The largest integer that divides both; 0 for two zeros.

    >>> gcd(tensor([4, 6, 0]), tensor([6, -9, 0])).tolist()
    [2, 3, 0]
    """
    return xp.gcd(a, b)


@pointwise(source=None, kinds="i", differentiable=False)
def lcm(xp, a, b):
    """The smallest positive integer that both divide; 0 where one is 0.

    >>> lcm(tensor([4, 6, 0]), tensor([6, -9, 3])).tolist()
    [12, 18, 0]
    """
    return xp.lcm(a, b)
