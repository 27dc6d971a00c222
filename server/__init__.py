"""The service: a lab that stores traces and benchmark results per commit, over HTTP or in a folder."""
