"""Finds clusters of points: k-means with NumPy, and a thread that packs each result."""

import queue
import threading
import zlib

import numpy as np

POINTS, CLUSTERS, ROUNDS = 20_000, 12, 8


class Result:
    def __init__(self, earlier, centers):
        self.earlier, self.centers = earlier, centers
        self.itself = self  # a cycle: the garbage collector's work


def nearest(points, centers):
    return ((points[:, None, :] - centers[None, :, :]) ** 2).sum(-1).argmin(1)


def new_centers(points, labels):
    sums, counts = [[0.0, 0.0] for _ in range(CLUSTERS)], [0] * CLUSTERS
    for (x, y), label in zip(points.tolist(), labels.tolist(), strict=True):  # what bincount does at once
        sums[label][0] += x
        sums[label][1] += y
        counts[label] += 1
    return np.array([[x / max(n, 1), y / max(n, 1)] for (x, y), n in zip(sums, counts, strict=True)])


def pack(results):
    while (centers := results.get()) is not None:
        for _ in range(10):
            zlib.compress(centers.tobytes() * 500)


def main():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(POINTS, 2)) + rng.integers(0, 4, size=(POINTS, 1)) * 3
    centers, result = points[:CLUSTERS], None
    results = queue.Queue()
    packer = threading.Thread(target=pack, args=(results,), name="packer")
    packer.start()
    for _ in range(ROUNDS):
        centers = new_centers(points, nearest(points, centers))
        result = [Result(result, centers) for _ in range(2000)][-1]
        results.put(centers)
    results.put(None)
    packer.join()
    print(f"{CLUSTERS} clusters of {POINTS} points")


if __name__ == "__main__":
    main()
