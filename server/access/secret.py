"""Secrets that are shown once: what is kept of them is a hash.

A secret holds 256 random bits, so a plain SHA-256 of it can be neither guessed nor looked up in a table.
"""

import hashlib
import secrets

TOKEN_PREFIX = "perflab_"  # so that scanners for leaked secrets, and our own masks, know one when they see it


def new_token() -> str:
    """A token that nobody has."""
    return TOKEN_PREFIX + secrets.token_urlsafe(32)


def new_link() -> str:
    """The last part of the address of a share link that nobody has."""
    return secrets.token_urlsafe(32)


def digest(secret: str) -> str:
    """What is kept of a secret: 64 hex digits."""
    return hashlib.sha256(secret.encode()).hexdigest()


def same(one: str, other: str) -> bool:
    """Whether two digests are equal, in a time that does not tell where they differ."""
    return secrets.compare_digest(one, other)
