"""Modules that data sets alone use run on the CPU; of others that is not known."""

from __future__ import annotations

import textwrap

import pytest

from devicefix import check

HEAD = """
import torch
import torchvision.transforms as T
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torchvision import datasets
from torchvision.datasets import CIFAR10


class Speckle(nn.Module):
    def __init__(self, std=0.1):
        super().__init__()
        self.std = std

    def forward(self, img):
        return img + torch.randn(img.shape) * self.std


class Shapes(Dataset):
    def __init__(self, transform=None):
        self.imgs = torch.rand(4, 3, 5, 5)
        self.transform = transform

    def __len__(self):
        return len(self.imgs)

    def __getitem__(self, i):
        return self.transform(self.imgs[i]) if self.transform is not None else self.imgs[i]


class Combined:
    def __init__(self, steps):
        self.steps = steps

    def __call__(self, img):
        for step in self.steps:
            img = step(img)
        return img


"""

ON_THE_CPU = [
    pytest.param("loader = DataLoader(Shapes(Speckle()))", id="directly"),
    pytest.param("loader = DataLoader(Shapes(Combined([Speckle()])))", id="own-compose"),
    pytest.param("tf = T.Compose([T.ToTensor(), Speckle(0.2)])\ndata = CIFAR10('x', transform=tf)", id="compose"),
    pytest.param("data = datasets.ImageFolder('x', T.RandomApply([Speckle()]))", id="positional"),
    pytest.param("sets = {n: datasets.ImageFolder(n, tfs[n]) for n in 'ab'}\ntfs = {'a': Speckle(), 'b': None}", id="dict"),
    pytest.param("def build(train):\n    steps = [T.ToTensor()]\n    if train:\n        steps.append(Speckle())\n"
                 "    return T.Compose(steps)\n\n\ndata = CIFAR10('x', transform=build(True))", id="function"),
    pytest.param("def loader_of(transform=None):\n    return DataLoader(Shapes(transform))\n\n\n"
                 "loader = loader_of(transform=Speckle())", id="parameter"),
    pytest.param("class More(Speckle):\n    pass\n\n\nloader = DataLoader(Shapes(More().eval()))", id="subclass"),
    pytest.param("class Own(Dataset):\n    def __getitem__(self, i):\n        return Speckle()(torch.ones(3))", id="inside"),
    pytest.param("class Own:\n    def __init__(self):\n        self.aug = nn.Sequential(Speckle())\n\n"
                 "    def __len__(self):\n        return 2\n\n    def __getitem__(self, i):\n"
                 "        return self.aug(torch.ones(3))", id="without-a-base"),
    pytest.param("def collate(samples):\n    aug = Speckle()\n    return torch.stack([aug(s) for s in samples])", id="collate"),
    pytest.param("def f(steps):\n    return steps\n\n\nsteps = Speckle()\nloader = Shapes(steps)", id="same-name"),
]  # fmt: skip


@pytest.mark.parametrize("use", ON_THE_CPU)
def test_used_by_data_sets_only(use: str) -> None:
    assert codes(use) == []


ANYWHERE = [
    pytest.param("", id="unused"),
    pytest.param("loader = DataLoader(Shapes())", id="never-built"),
    pytest.param("loader = DataLoader(Shapes(Speckle()))\nNET = nn.Sequential(Speckle(), nn.Linear(3, 3))", id="and-a-model"),
    pytest.param("aug = Speckle()\nloader = DataLoader(Shapes(aug))\n\n\ndef step(x):\n    return aug(x)", id="and-called"),
    pytest.param("AUGMENTATIONS = {'speckle': Speckle}\nloader = DataLoader(Shapes(Speckle()))", id="registry"),
    pytest.param("def fit(Trainer):\n    Trainer(transform=T.Compose([Speckle()]))", id="trainer"),
    pytest.param("def build():\n    return Speckle()\n\n\nloader = DataLoader(Shapes(build()))\nbuilder = build", id="builder"),
    pytest.param("def build():\n    return Speckle()\n\n\nloader = Shapes(build())\ny = build()(torch.ones(3))", id="built-and-called"),
    pytest.param("class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.aug = Speckle()\n\n"
                 "    def forward(self, x):\n        return self.aug(x)\n\n\nloader = DataLoader(Shapes(Speckle()))", id="layer"),
    pytest.param("class Net(nn.Module):\n    def __init__(self, transform):\n        super().__init__()\n"
                 "        self.transform = transform\n\n    def forward(self, x):\n        return self.transform(x)\n\n\n"
                 "net = Net(transform=Speckle())\nloader = DataLoader(Shapes())", id="module-that-is-given-it"),
    pytest.param("class More(Speckle):\n    pass\n\n\nloader = DataLoader(Shapes(Speckle()))\nnet = nn.Sequential(More())\n"
                 "y = net(torch.ones(3))", id="subclass-elsewhere"),
]  # fmt: skip


@pytest.mark.parametrize("use", ANYWHERE)
def test_used_elsewhere_too(use: str) -> None:
    assert codes(use) == ["DVF201"]


def codes(use: str) -> list[str]:
    result = check(HEAD + textwrap.dedent(use) + "\n")
    assert result.errors == []
    return [finding.code for finding in result.findings]
