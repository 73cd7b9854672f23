"""Trains the model of harness/eye: train.py DATA OUT. DATA is what pictures.go wrote.

  1. see: the part that sees learns to tell each fact of a picture to an auxiliary head.
  2. large: the same, of larger pictures more often, which cost more.
  3. read: the part that reads and writes learns to answer, from pictures as they are seen by then;
     short conversations first.

Two processes of one thread each average their gradients; what a step sees follows from its number,
so that a run repeats bit by bit on one machine, and one that was interrupted goes on from
OUT/state.pt as if it had not been.
"""
import json, os, sys, time
import torch.multiprocessing as mp
from model import *

# name, steps, rate at most, steps of rise and of fall
STAGES = [("see", 1500, 2e-3, 100, 500), ("large", 500, 1.5e-3, 50, 400), ("read", 910, 3e-3, 100, 160)]
PARTS = [{"film-112": .79, "film-140": .07, "film-168": .07, "film-224": .07},
         {"shape-112": .46, "shape-84": .09, "shape-168": .05, "shape-224": .06, "shape-448": .02, "two": .14, "three": .12, "none": .06}]
SEE = [{"film-112": .72, "film-140": .08, "film-168": .08, "film-224": .12}, {"shape-112": .46, "shape-84": .09, "shape-168": .05, "shape-224": .06, "shape-448": .02}]
LARGE = [{"film-112": .2, "film-140": .2, "film-168": .25, "film-224": .35}, {"shape-112": .3, "shape-84": .1, "shape-168": .15, "shape-224": .4, "shape-448": .05}]
SHORT = 36                                                # tokens of conversations that come first
LOOK, KEEP = 500, 50                                      # steps between looks at unseen pictures, between states kept


class Set:
    def __init__(self, folder, l, prefix):
        path = os.path.join(folder, l["name"])
        self.l, self.name = l, l["name"][len(prefix):]
        self.rows = np.fromfile(path + ".tokens", np.uint16).reshape(-1, l["long"] + 8)
        self.patches = (l["side"] // PATCH) * (l["high"] // PATCH)
        if l["images"]:
            self.pixels = np.memmap(path + ".pixels", np.uint8, "r").reshape(-1, l["high"], l["side"], 3)
            self.known = torch.from_numpy(np.fromfile(path + ".facts", np.int8).reshape(-1, FACTS).astype(np.int64))

    def view(self, shown):
        return normalise(np.asarray(self.pixels[shown]))

    def some(self, r, most):
        """Rows at random, so many of each of some pictures: the shortest of more, where most is a length."""
        k = self.l["images"]
        if k != 1:
            rows = r.integers(0, len(self.rows), 16 if most else 8)
            return rows[np.argsort(self.rows[rows, 2], kind="stable")[:8]], 1
        n, each = max(2, 6 * 64 // self.patches), 3 if self.patches < 140 else 6
        out = []
        for i in r.integers(0, len(self.pixels), n) * self.l["each"]:
            rows = i + r.permutation(self.l["each"])
            if most: rows = rows[np.argsort(self.rows[rows, 2] > most, kind="stable")]
            out.append(rows[:each])
        return np.concatenate(out), each

    def batch(self, rows, end):
        """Tokens, where answers are, their weights, which are words of answers; pictures; tasks."""
        l, k = self.l, self.l["images"]
        take = self.rows[rows].astype(np.int64)
        R, C = l["high"] // PATCH // MERGE, l["side"] // PATCH // MERGE
        seqs = []
        for t in take:
            asked, stop, first, last = t[1:5]
            ids = t[8:8 + stop].tolist()
            seqs.append((expand(ids[:asked], R, C, end), ids[asked:], first - asked, last - asked))
        long = max(len(q) + len(a) for q, a, _, _ in seqs) - 1
        ids = np.full((len(seqs), long), PAD)
        want = np.full((len(seqs), long), -1)
        weight = np.zeros((len(seqs), long), np.float32)
        keys = np.zeros((len(seqs), long), bool)
        for i, (q, a, first, last) in enumerate(seqs):
            s, at = (q + a)[:-1], len(q) - 1
            ids[i, :len(s)] = s
            want[i, at:at + len(a)] = a
            weight[i, at:at + len(a)] = .1
            weight[i, at + first:at + last] = 1
            keys[i, at + first:at + last] = True
        return [torch.from_numpy(x) for x in (ids, want, weight, keys)] + [take[:, 5:5 + k], take[:, 0]]


def answers(m, b, images):
    """Logits of answers' tokens, what is wanted there, weights, which are words, whose row. The
    shorter half of the rows goes through the model without the longer half's padding."""
    ids, want, weight, keys = b[:4]
    long = (ids != PAD).sum(1)
    out = []
    for rows in torch.argsort(long, stable=True).chunk(2 if len(ids) > 8 else 1):
        n = int(long[rows].max())
        x = m(ids[rows, :n], images[rows].reshape(-1, H) if images is not None else None)
        w = want[rows, :n]
        at = w >= 0
        out.append((m.head(x[at]), w[at], weight[rows, :n][at], keys[rows, :n][at], rows[at.nonzero()[:, 0]]))
    return [torch.cat(t) for t in zip(*out)]


def facts(m, seen, known):
    at = known >= 0
    return F.cross_entropy(m.facts(seen)[at], known[at])


def loss_of(m, s, r, stage):
    if stage in ("see", "large"):
        n = max(2, (16 if stage == "see" else 20) * 64 // s.patches)
        shown = r.integers(0, len(s.pixels), n)
        return facts(m, m.see(s.view(shown)), s.known[shown]) * min(1, n / 16)
    rows, each = s.some(r, 0)
    b = s.batch(rows, r.random() < .7)
    images = None
    if s.l["images"]:
        shown = b[4][::each].reshape(-1)
        with torch.no_grad():
            images = m.see(s.view(shown)).flatten(1, 2)
        if each > 1: images = images.repeat_interleave(each, 0)
        images = images.reshape(len(rows), -1, H)
    z, want, weight, _, _ = answers(m, b, images)
    return (F.cross_entropy(z, want, reduction="none") * weight).sum() / 18


def short(m, sets, r):
    """Short conversations about pictures of one size, in one batch."""
    end, parts = r.random() < .7, []
    for s in sets:
        rows, each = s.some(r, SHORT)
        b = s.batch(rows, end)
        with torch.no_grad():
            parts.append((b, m.see(s.view(b[4][::each, 0])).flatten(1, 2).repeat_interleave(each, 0)))
    long = max(b[0].shape[1] for b, _ in parts)
    ids, want, weight = (torch.cat([F.pad(b[i], (0, long - b[i].shape[1]), value=v) for b, _ in parts]) for i, v in ((0, PAD), (1, -1), (2, 0.)))
    x = m(ids, torch.cat([i for _, i in parts]).reshape(-1, H))
    at = want >= 0
    return (F.cross_entropy(m.head(x[at]), want[at], reduction="none") * weight[at]).sum() / 18


def accuracy(m, sets, tasks, most, end):
    """By task and layout, over at most so many rows of each layout; and of facts."""
    out = {}
    with torch.no_grad():
        for s in sets:
            k = s.l["images"]
            n = min(most, len(s.rows))
            for i in range(0, n, 32):
                rows = np.arange(i, min(i + 32, n))
                b = s.batch(rows, end)
                images = None
                if k:
                    shown, back = np.unique(b[4].reshape(-1), return_inverse=True)
                    seen = m.see(s.view(shown))
                    for f, (g, w) in enumerate(zip((m.facts(seen).argmax(-1) == s.known[shown]).T, (s.known[shown] >= 0).T)):
                        c = out.setdefault(f"fact {f:02d}", [0, 0])
                        c[0] += int((g & w).sum()); c[1] += int(w.sum())
                    images = seen.flatten(1, 2)[back].reshape(len(rows), -1, H)
                z, want, _, keys, row = answers(m, b, images)
                ok = torch.ones(len(rows), dtype=torch.bool)
                ok[row[keys & (z.argmax(-1) != want)]] = False
                for t, g in zip(b[5], ok.tolist()):
                    for name in (tasks[t], "in all: " + s.name):
                        c = out.setdefault(name, [0, 0])
                        c[0] += g; c[1] += 1
    return {name: (g, n) for name, (g, n) in sorted(out.items()) if n}


def tell(m, folder, meta):
    """Accuracy on unseen pictures: by fact, by task, by layout."""
    sets = [Set(folder, l, "test-") for l in meta["layouts"] if l["name"].startswith("test-")]
    for name, (g, n) in accuracy(m, sets, meta["tasks"], 600, True).items():
        print(f"{name}: {g} of {n}, {100 * g / n:.1f} %", flush=True)


def work(rank, shared, bar, folder, out):
    torch.set_num_threads(1)
    meta = json.load(open(os.path.join(folder, "layouts.json")))
    words = json.load(open(os.path.join(folder, "vocabulary.json")))
    train = {s.name: s for s in (Set(folder, l, "train-") for l in meta["layouts"] if l["name"].startswith("train-"))}
    test = [Set(folder, l, "test-") for l in meta["layouts"] if l["name"] in ("test-film-112", "test-shape-112", "test-two", "test-film-224", "test-none")]
    state = os.path.join(out, "state.pt")
    kept = torch.load(state) if os.path.exists(state) else {"stage": 0, "step": 0, "took": 0., "opt": None}
    torch.manual_seed(7)
    m = Eye(len(words["tokens"]))
    if kept["opt"]: m.load_state_dict(kept["model"])
    began = time.time() - kept["took"]
    sees = [p for n, p in m.named_parameters() if n.split(".")[0] in ("patch", "pre", "vis", "mmnorm", "merge", "mm1", "mm2", "ask", "fact")]
    reads = [p for n, p in m.named_parameters() if n.split(".")[0] in ("emb", "txt", "norm", "out")]
    if rank == 0:
        print("parameters", sum(p.numel() for p in sees + reads) - m.ask.numel() - m.fact.numel(), flush=True)
    for number in range(kept["stage"], len(STAGES)):
        stage, steps, rate, rise, fall = STAGES[number]
        ps = {"see": sees, "large": sees, "read": reads}[stage]
        opt = torch.optim.AdamW([{"params": [p for p in ps if p.dim() > 1], "weight_decay": .02}, {"params": [p for p in ps if p.dim() == 1], "weight_decay": 0}],
                                lr=rate, betas=(.9, .98))
        first, smooth = 0, None
        if number == kept["stage"] and kept["opt"]:
            opt.load_state_dict(kept["opt"]); first, smooth = kept["step"], kept["loss"]
        flat = shared[:, :sum(p.numel() for p in ps)]
        for step in range(first, steps):
            r = np.random.default_rng([4011, number, step, rank])
            lr = rate * min(1, (step + 1) / rise, (steps - step) / fall) + 1e-5
            for g in opt.param_groups: g["lr"] = lr
            opt.zero_grad()
            total = 0.
            briefly = stage == "read" and steps - step > fall
            if briefly:
                loss = short(m, (train["film-112"], train["shape-112"]), r)
                loss.backward(); total = loss.item()
            for part in () if briefly else {"see": SEE, "large": LARGE}.get(stage, PARTS):
                w = np.array(list(part.values()))
                loss = loss_of(m, train[str(r.choice(list(part), p=w / w.sum()))], r, stage)
                loss.backward(); total += loss.item()
            torch.cat([p.grad.flatten() for p in ps], out=flat[rank]); bar.wait()
            g = flat.mean(0); k = 0; bar.wait()
            for p in ps:
                p.grad.copy_(g[k:k + p.numel()].view_as(p)); k += p.numel()
            nn.utils.clip_grad_norm_(ps, 1.0); opt.step()
            smooth = total if smooth is None else .98 * smooth + .02 * total
            done = step + 1
            if rank == 0:
                if done % 100 == 0 or done == steps:
                    print(stage, done, f"{time.time() - began:.0f} s, loss {smooth:.4f}", flush=True)
                if done % LOOK == 0 or done == steps:
                    a = accuracy(m, test, meta["tasks"], 400, True)
                    print({k: f"{100 * g / n:.1f}" for k, (g, n) in a.items() if k.startswith("fact") == (stage in ("see", "large"))}, flush=True)
                if done % KEEP == 0 or done == steps:
                    last = done == steps
                    torch.save({"model": m.state_dict(), "opt": None if last and number + 1 == len(STAGES) else opt.state_dict(), "stage": number, "step": done,
                                "loss": smooth, "took": time.time() - began}, state + ".new")
                    os.replace(state + ".new", state)
    if rank == 0:
        tell(m, folder, meta)
        export(m, words, os.path.join(out, "eye.gguf"), os.path.join(out, "eye-mmproj.gguf"))


if __name__ == "__main__":
    folder, out = sys.argv[1], sys.argv[2]
    os.makedirs(out, exist_ok=True)
    words = json.load(open(os.path.join(folder, "vocabulary.json")))
    n = sum(p.numel() for p in Eye(len(words["tokens"])).parameters())
    c = mp.get_context("fork")
    shared, bar = torch.zeros(2, n).share_memory_(), c.Barrier(2)
    w = [c.Process(target=work, args=(i, shared, bar, folder, out)) for i in range(2)]
    [p.start() for p in w]; [p.join() for p in w]
