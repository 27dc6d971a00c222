"""Training programs as PyTorch's users write them. Each takes the library, perflab.runtime or torch; numbers come back.

tests/runtime/test_programs.py runs them here, tests/torch/test_programs.py in PyTorch, which shows that they are right.
"""

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np

PROGRAMS: list[Callable[[Any], list[float]]] = []


def program(body: Callable[[Any], list[float]]) -> Callable[[Any], list[float]]:
    PROGRAMS.append(body)
    return body


@program
def character_transformer(torch: Any) -> list[float]:
    nn, F = torch.nn, torch.nn.functional
    vocabulary, width, heads, context = 20, 16, 2, 12

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.project = nn.Linear(width, 3 * width, bias=False)
            self.register_buffer("mask", torch.tril(torch.ones(context, context)).view(1, 1, context, context))

        def forward(self, x: Any) -> Any:
            batch, length, _ = x.size()
            q, k, v = (
                part.view(batch, length, heads, width // heads).transpose(1, 2)
                for part in self.project(x).split(width, dim=2)
            )
            if self.training:
                y = F.scaled_dot_product_attention(q, k, v, dropout_p=0.0, is_causal=True)
            else:
                scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
                scores = scores.masked_fill(self.mask[:, :, :length, :length] == 0, float("-inf"))
                y = F.softmax(scores, dim=-1, dtype=torch.float32).type_as(v) @ v
            return y.transpose(1, 2).contiguous().view(batch, length, width)

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.parts = nn.ModuleDict(
                {
                    "token": nn.Embedding(vocabulary, width),
                    "place": nn.Embedding(context, width),
                    "attention": Attention(),
                    "norm": nn.LayerNorm(width),
                }
            )
            self.head = nn.Linear(width, vocabulary, bias=False)
            self.parts.token.weight = self.head.weight
            self.apply(self._start)

        def _start(self, module: Any) -> None:
            if isinstance(module, nn.Linear | nn.Embedding):
                nn.init.normal_(module.weight, mean=0.0, std=0.02)

        def forward(self, index: Any, targets: Any = None) -> Any:
            places = torch.arange(0, index.size(1), dtype=torch.long, device=index.device)
            x = self.parts.token(index) + self.parts.place(places)
            logits = self.head(self.parts.norm(x + self.parts.attention(x)))
            if targets is None:
                return logits[:, [-1], :], None
            return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)

    model = Model().to("cpu")
    decayed = [p for p in model.parameters() if p.dim() >= 2]
    others = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=1e-2, betas=(0.9, 0.95))
    text = torch.arange(60) % vocabulary
    losses = []
    for _ in range(8):
        starts = torch.randint(len(text) - context - 1, (4,))
        x = torch.stack([text[i : i + context] for i in starts])
        y = torch.stack([text[i + 1 : i + 1 + context] for i in starts])
        with torch.amp.autocast(device_type="cpu", dtype=torch.bfloat16):
            _, loss = model(x, y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    index = torch.zeros((1, 1), dtype=torch.long)
    with torch.no_grad():
        for _ in range(3):
            logits = model(index)[0][:, -1, :] / 0.8
            least = torch.topk(logits, 5)[0][:, [-1]]
            logits[logits < least] = -float("Inf")
            index = torch.cat((index, torch.multinomial(F.softmax(logits, dim=-1), num_samples=1)), dim=1)
    assert index.shape == (1, 4)
    return losses


@program
def residual_network(torch: Any) -> list[float]:
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, channels: int) -> None:
            super().__init__()
            self.conv = nn.Conv2d(channels, channels, kernel_size=3, padding=1, bias=False, padding_mode="reflect")
            self.norm = nn.BatchNorm2d(channels)
            self.relu = nn.ReLU(inplace=True)

        def forward(self, x: Any) -> Any:
            out = self.norm(self.conv(x))
            out += x
            return self.relu(out)

    layers = [nn.Conv2d(3, 4, 3, 2, 1), nn.MaxPool2d(3, 2, padding=1), Block(4), nn.AdaptiveAvgPool2d((1, 1))]
    model = nn.Sequential(*layers, nn.Flatten(), nn.Linear(4, 5))
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
        elif isinstance(module, nn.BatchNorm2d):
            nn.init.constant_(module.weight, 1)
    data = torch.utils.data.TensorDataset(torch.randn(12, 3, 16, 16), torch.randint(5, (12,)))
    loader = torch.utils.data.DataLoader(data, batch_size=4, shuffle=True, drop_last=True)
    optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=6)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    losses = []
    for _ in range(2):
        model.train()
        for x, y in loader:
            out = model(x)
            loss = criterion(out, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        top = model(x).topk(3, 1, True, True)[1].t()
        right = top.eq(y.view(1, -1).expand_as(top))
        losses.append(right[:1].reshape(-1).float().sum(0, keepdim=True).mul_(100.0 / 4).item())
    return losses


@program
def adversaries(torch: Any) -> list[float]:
    nn = torch.nn
    maker = nn.Sequential(
        nn.ConvTranspose2d(6, 8, 4, 1, 0, bias=False), nn.BatchNorm2d(8), nn.ReLU(True), nn.ZeroPad2d(2), nn.Tanh()
    )
    judge = nn.Sequential(nn.Conv2d(8, 4, 4, 2, 1), nn.LeakyReLU(0.2, inplace=True), nn.Flatten(), nn.Linear(64, 1))
    maker.apply(lambda m: m.weight.data.normal_(0.0, 0.02) if hasattr(m, "kernel_size") else None)
    of_maker, of_judge = (torch.optim.Adam(m.parameters(), lr=2e-4, betas=(0.5, 0.999)) for m in (maker, judge))
    criterion = nn.BCEWithLogitsLoss()
    label = torch.full((4, 1), 1.0, dtype=torch.float, device="cpu")
    losses = []
    for _ in range(2):
        judge.zero_grad()
        real, fake = torch.randn(4, 8, 8, 8, device="cpu"), maker(torch.randn(4, 6, 1, 1, device="cpu"))
        criterion(judge(real), label.fill_(1.0)).backward()
        criterion(judge(fake.detach()), label.fill_(0.0)).backward()
        share = torch.rand(4, 1, 1, 1)
        mixed = (share * real + (1 - share) * fake.detach()).requires_grad_(True)
        (slope,) = torch.autograd.grad(
            outputs=judge(mixed).sum(), inputs=mixed, create_graph=True, retain_graph=True, only_inputs=True
        )
        penalty = ((slope.view(4, -1).norm(2, dim=1) - 1) ** 2).mean()
        penalty.backward()
        of_judge.step()
        maker.zero_grad()
        loss = criterion(judge(fake), label.fill_(1.0))
        loss.backward()
        of_maker.step()
        losses += [penalty.item(), loss.item()]
    return losses


@program
def word_model(torch: Any) -> list[float]:
    nn, F = torch.nn, torch.nn.functional
    losses = []
    text = torch.randint(30, (100,)).narrow(0, 0, 80).view(4, -1).t().contiguous()
    for kind in ("LSTM", "GRU"):
        embed, decode = nn.Embedding(30, 8), nn.Linear(8, 30)
        recurrent = getattr(nn, kind)(8, 8, 2, dropout=0.1)
        model = nn.ModuleList([embed, recurrent, decode])
        decode.weight = embed.weight
        weight = next(model.parameters())
        hidden = weight.new_zeros(2, 4, 8)
        if kind == "LSTM":
            hidden = (hidden, weight.new_zeros(2, 4, 8))
        for i in range(0, text.size(0) - 1, 10):
            n = min(10, len(text) - 1 - i)
            hidden = hidden.detach() if torch.is_tensor(hidden) else tuple(h.detach() for h in hidden)
            out, hidden = recurrent(embed(text[i : i + n]), hidden)
            loss = F.nll_loss(F.log_softmax(decode(out).view(-1, 30), dim=1), text[i + 1 : i + 1 + n].reshape(-1))
            model.zero_grad()
            loss.backward()
            for p in model.parameters():
                p.data.add_(p.grad, alpha=-0.5)
            losses.append(loss.item())
    return losses


@program
def policies(torch: Any) -> list[float]:
    nn, F = torch.nn, torch.nn.functional
    policy = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
    logs = []
    for state in np.random.default_rng(0).random((5, 4), np.float32):
        odds = F.softmax(policy(torch.from_numpy(state).float().unsqueeze(0)), dim=1)
        logs.append(torch.log(odds.gather(1, odds.multinomial(1))).squeeze())
    returns = torch.tensor([float(i) for i in range(5)])
    returns = (returns - returns.mean()) / (returns.std() + np.finfo(np.float32).eps.item())
    loss = torch.stack([-log * r for log, r in zip(logs, returns, strict=True)]).sum()
    loss.backward()
    optimizer.step()
    assert abs(returns.std().item() - 1) < 1e-5
    values, target = nn.Linear(4, 2), nn.Linear(4, 2)
    target.load_state_dict(values.state_dict())
    state, action = torch.randn(6, 4), torch.randint(2, (6, 1))
    going_on = torch.tensor([True, False] * 3, device="cpu", dtype=torch.bool)
    later = torch.zeros(6)
    with torch.no_grad():
        later[going_on] = target(state[going_on]).max(1).values
    error = nn.SmoothL1Loss()(values(state).gather(1, action), (later * 0.9 + 1).unsqueeze(1))
    error.backward()
    nn.utils.clip_grad_value_(values.parameters(), 1.0)
    return [loss.item(), error.item()]


@program
def pictures_from_noise(torch: Any) -> list[float]:
    nn, F = torch.nn, torch.nn.functional
    encode, decode = nn.Linear(36, 8), nn.Linear(4, 36)
    optimizer = torch.optim.Adam([*encode.parameters(), *decode.parameters()], lr=1e-3)
    losses = []
    for _ in range(3):
        x = torch.rand(6, 1, 6, 6)
        mean, log_var = encode(x.view(-1, 36)).chunk(2, dim=1)
        z = mean + torch.randn_like(mean) * torch.exp(0.5 * log_var)
        made = torch.sigmoid(decode(z)).view_as(x)
        fit = F.binary_cross_entropy(made, x, reduction="sum")
        loss = fit - 0.5 * torch.sum(1 + log_var - mean.pow(2) - log_var.exp())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@program
def segments(torch: Any) -> list[float]:
    nn, F = torch.nn, torch.nn.functional
    down, up = nn.Conv2d(2, 2, 3, padding="same"), nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
    x = torch.randn(1, 2, 9, 9)
    small = up(F.max_pool2d(down(x), 2))
    rows, columns = x.size(2) - small.size(2), x.size(3) - small.size(3)
    small = F.pad(small, [columns // 2, columns - columns // 2, rows // 2, rows - rows // 2])
    odds = torch.sigmoid(torch.cat([x, small], dim=1)[:, 2])
    truth = (torch.rand(1, 9, 9) > 0.5).float()
    both = (odds * truth).sum(dim=(1, 2))
    dice = 1 - ((2 * both + 1) / (odds.sum((1, 2)) + truth.sum((1, 2)) + 1)).mean()
    dice.backward()
    return [dice.item()]


@program
def adam_by_hand(torch: Any) -> list[float]:
    weight = torch.nn.Parameter(torch.tensor([[1.0, -2.0], [0.5, 3.0]]))
    mean, square = torch.zeros_like(weight), torch.zeros_like(weight)
    x = torch.tensor([[1.0, 2.0], [-1.0, 0.5]])
    losses = []
    for step in range(1, 4):
        loss = torch.addmm(torch.ones(2), x, weight.t()).pow(2).mean()
        (grad,) = torch.autograd.grad(loss, weight)
        with torch.no_grad():
            mean.mul_(0.9).add_(grad, alpha=0.1)
            square.mul_(0.99).addcmul_(grad, grad, value=0.01)
            bottom = square.sqrt().div_(math.sqrt(1 - 0.99**step)).add_(1e-8)
            weight.addcdiv_(mean, bottom, value=-0.1 / (1 - 0.9**step))
        losses.append(loss.item())
    return losses


@program
def averages_and_inner_steps(torch: Any) -> list[float]:
    nn, F = torch.nn, torch.nn.functional
    model = nn.Linear(2, 1, device="cpu", dtype=torch.float32)
    with torch.no_grad():
        model.weight.copy_(torch.tensor([[0.5, -1.0]]))
        model.bias.zero_()
    average = copy.deepcopy(model)
    for p in average.parameters():
        p.requires_grad_(False)
    x, y = torch.arange(8.0).view(4, 2), torch.linspace(0, 1, steps=4).unsqueeze(1)
    weights = [p.clone() for p in model.parameters()]
    inner = torch.autograd.grad(F.mse_loss(F.linear(x, *weights), y), weights, create_graph=True)
    outer = F.mse_loss(F.linear(x, *(w - 0.01 * g for w, g in zip(weights, inner, strict=True))), y)
    outer.backward()
    for old, new in zip(average.parameters(), model.parameters(), strict=True):
        old.mul_(0.9).add_(new.grad, alpha=0.1)
    return [outer.item(), *(v for p in average.parameters() for v in p.view(-1).tolist())]
