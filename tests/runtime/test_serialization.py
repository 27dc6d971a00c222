"""Saving and loading."""

import io
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from perflab import runtime as rt
from perflab.runtime import nn, optim
from perflab.runtime.spec import DTYPES


def test_a_dict_of_tensors_is_a_plain_safetensors_file(tmp_path: Path) -> None:
    path = tmp_path / "weights.safetensors"
    net = nn.Sequential(nn.Linear(2, 3), nn.Tanh())
    rt.save(net.state_dict(), path, metadata={"made by": "a test"})
    read = load_file(path)
    assert list(read) == ["0.bias", "0.weight"] or list(read) == ["0.weight", "0.bias"]
    np.testing.assert_array_equal(read["0.weight"], net[0].weight.detach().numpy())
    other = nn.Sequential(nn.Linear(2, 3), nn.Tanh())
    other.load_state_dict(rt.load(str(path)))
    assert other[0].weight.tolist() == net[0].weight.tolist()
    assert rt.load_metadata(path) == {"made by": "a test"}
    save_file({"x": np.arange(3)}, path)
    assert rt.load(path)["x"].tolist() == [0, 1, 2] and rt.load_metadata(path) == {}


def test_a_state_dict_keeps_its_order(tmp_path: Path) -> None:
    state = {"z": rt.ones(2), "a": rt.ones(3, dtype=rt.float64), "m": rt.ones(1, dtype=rt.bool)}
    rt.save(state, tmp_path / "state")
    assert list(rt.load(tmp_path / "state")) == ["z", "a", "m"]
    assert rt.load_metadata(tmp_path / "state") == {}


def test_a_checkpoint_goes_on_where_it_was_saved() -> None:
    def train(net: nn.Module, optimizer: optim.Optimizer, scheduler: Any, steps: int) -> None:
        for _ in range(steps):
            optimizer.zero_grad()
            (net(rt.ones(1, 2)) ** 2).sum().backward()
            optimizer.step()
            scheduler.step()

    def start() -> tuple[nn.Module, optim.Optimizer, Any]:
        rt.manual_seed(0)
        net = nn.Linear(2, 1)
        optimizer = optim.AdamW(net.parameters(), lr=0.1)
        return net, optimizer, optim.lr_scheduler.CosineAnnealingLR(optimizer, 20)

    net, optimizer, scheduler = start()
    train(net, optimizer, scheduler, 5)
    file = io.BytesIO()
    state = {"net": net.state_dict(), "optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict()}
    rt.save({**state, "rng": rt.get_rng_state(), "epoch": 5}, file)
    train(net, optimizer, scheduler, 5)
    file.seek(0)
    loaded = rt.load(file)
    assert loaded["epoch"] == 5 and loaded["optimizer"]["param_groups"][0]["betas"] == (0.9, 0.999)
    again, optimizer, scheduler = start()
    again.load_state_dict(loaded["net"])
    optimizer.load_state_dict(loaded["optimizer"])
    scheduler.load_state_dict(loaded["scheduler"])
    rt.set_rng_state(loaded["rng"])
    train(again, optimizer, scheduler, 5)
    assert [p.tolist() for p in again.parameters()] == [p.tolist() for p in net.parameters()]


def round_trip(value: Any, **options: Any) -> Any:
    file = io.BytesIO()
    rt.save(value, file, **options)
    file.seek(0)
    return rt.load(file, **options)


def test_structures_and_numbers_come_back() -> None:
    value = {1: [1, 2.5, None, True], "t": ("x", {"inf": float("inf"), "tiny": 5e-324}), "empty": {}}
    found = round_trip(value)
    assert found == value and type(found["t"]) is tuple
    assert round_trip([rt.tensor(3), (rt.zeros(0, 2),)])[1][0].shape == (0, 2)
    assert round_trip(rt.tensor([1.0, 2.0])).tolist() == [1, 2]
    assert round_trip({"a": rt.arange(6).reshape(2, 3).T[1:]})["a"].tolist() == [[1, 4], [2, 5]]
    assert round_trip({}) == {}
    leaf = round_trip({"p": nn.Parameter(rt.ones(1))})["p"]
    assert type(leaf) is rt.Tensor and not leaf.requires_grad


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d.name != "complex128"], ids=lambda d: d.name)
def test_every_dtype_comes_back(dtype: rt.DType) -> None:
    value = rt.tensor([0, 1, 1]).astype(dtype)
    found = round_trip({"x": value})["x"]
    assert found.dtype is dtype and found.tolist() == value.tolist()


def test_pickles_need_a_flag_on_both_sides(tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    net = nn.Linear(2, 1)
    with pytest.raises(TypeError, match=r"save: 'net' is a Linear: only tensors.*weights_only=False\) makes one"):
        rt.save({"net": net}, path)
    assert not list(tmp_path.iterdir())
    with pytest.raises(TypeError, match="a key of the object is a tuple"):
        rt.save({(1, 2): rt.ones(1)}, path)
    rt.save(net, path, weights_only=False)
    with pytest.raises(rt.FileFormatError, match=r"model.pt is a pickle, which may run code.*weights_only=False"):
        rt.load(path)
    assert rt.load(path, weights_only=False).weight.tolist() == net.weight.tolist()
    assert round_trip({"a": rt.ones(1)}, weights_only=False)["a"].item() == 1
    rt.save({"a": rt.ones(1)}, path)
    assert rt.load(path, weights_only=False)["a"].item() == 1
    with pytest.raises(rt.ArgumentError, match="a pickle has no metadata"):
        rt.save(net, path, metadata={}, weights_only=False)


def test_a_file_that_cannot_be_read_says_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    rt.save({"a": rt.ones(100)}, path)
    whole = path.read_bytes()
    for content, message in (
        (b"", "x.safetensors is empty"),
        (whole[:-7], "is no safetensors file, or a damaged one"),
        (b"hello, this is no state", "is no safetensors file, or a damaged one"),
        (b"PK\x03\x04rest", "is a zip archive, as torch.save writes"),
        (pickle.dumps([1]), "is a pickle"),
    ):
        path.write_bytes(content)
        with pytest.raises(rt.FileFormatError, match=message):
            rt.load(path)
        with pytest.raises(rt.FileFormatError, match=message):
            rt.load_metadata(path)
    with pytest.raises(FileNotFoundError):
        rt.load(tmp_path / "missing")
    rt.save([rt.ones(1)], path)
    path.write_bytes(path.read_bytes().replace(b'{\\"tensor\\"', b'{\\"tensar\\"'))
    with pytest.raises(rt.FileFormatError, match="has a damaged structure"):
        rt.load(path)


def test_a_path_gets_the_file_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "state"
    rt.save({"a": rt.ones(1)}, path)
    assert path.stat().st_mode & 0o777 == 0o666 & ~os.umask(os.umask(0o022)) or path.stat().st_mode & 0o444

    def broken(descriptor: int) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(OSError, match="disk full"):
        rt.save({"a": rt.zeros(1)}, path)
    monkeypatch.undo()
    assert rt.load(path)["a"].item() == 1 and [p.name for p in tmp_path.iterdir()] == ["state"]


def test_no_file_takes_the_place_of_a_device_or_a_link(tmp_path: Path) -> None:
    link, device = tmp_path / "link", tmp_path / "null"
    link.symlink_to(tmp_path / "real")
    device.symlink_to(os.devnull)
    rt.save({"a": rt.ones(1)}, link)
    assert link.is_symlink() and rt.load(tmp_path / "real")["a"].item() == 1
    rt.save({"a": rt.ones(1)}, device)
    assert device.is_char_device()


def test_what_cannot_be_named_is_refused() -> None:
    with pytest.raises(rt.ArgumentError, match=r"two tensors would have the name 'a\.b'"):
        round_trip({"a.b": rt.ones(1), "a": {"b": rt.ones(1)}})
    with pytest.raises(rt.ArgumentError, match="metadata is strings by strings"):
        rt.save({}, io.BytesIO(), metadata={"epoch": 3})  # type: ignore[dict-item]
