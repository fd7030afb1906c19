"""A small training program. It runs on the CPU and stops on an accelerator: `devicefix --diff examples/` shows why."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Tagger(nn.Module):
    def __init__(self, vocabulary, width, tags, length):
        super().__init__()
        self.width = width
        self.embed = nn.Embedding(vocabulary, width)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, tags)
        self.fade = torch.linspace(1.0, 0.5, length).unsqueeze(-1)

    def forward(self, words):
        h0 = torch.zeros(1, words.size(0), self.width)
        x = self.embed(words) * self.fade[: words.size(1)]
        x, _ = self.rnn(x, h0)
        return self.head(x)


def evaluate(model, loader):
    model.eval()
    right = 0
    with torch.no_grad():
        for words, tags in loader:
            words.to(device)
            tags.to(device)
            right += (model(words).argmax(-1) == tags).sum().item()
    return right


def main():
    torch.manual_seed(0)
    words = torch.randint(0, 50, (64, 12))
    loader = DataLoader(TensorDataset(words, words % 5), batch_size=16)

    model = Tagger(vocabulary=50, width=16, tags=5, length=20)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    model.to(device)
    weights = torch.tensor([1.0, 1.0, 2.0, 2.0, 1.0])
    criterion = nn.CrossEntropyLoss(weight=weights)

    losses = []
    for epoch in range(2):
        model.train()
        for words, tags in loader:
            loss = criterion(model(words).flatten(0, 1), tags.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        print(f"epoch {epoch}: {evaluate(model, loader)} of {64 * 12} tags right")
    return losses


if __name__ == "__main__":
    main()
