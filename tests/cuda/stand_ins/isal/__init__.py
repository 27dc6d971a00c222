"""isal's gzip and zlib, by the standard library's."""

import gzip as igzip
import zlib as isal_zlib

__all__ = ["igzip", "isal_zlib"]
