"""Trains a small network on random pictures with PyTorch."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def train_step(model, optimizer, pictures, labels):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(pictures), labels)
    loss.backward()
    optimizer.step()
    return loss.item()


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    data = TensorDataset(torch.randn(640, 64), torch.randint(0, 10, (640,)))
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(2):
        for pictures, labels in DataLoader(data, batch_size=64, shuffle=True):
            loss = train_step(model, optimizer, pictures, labels)
    print(f"20 steps, loss {loss:.1f}")


if __name__ == "__main__":
    main()
