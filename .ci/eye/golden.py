"""What torch answers: golden.py ASKS DATA OUT golden.json. ASKS is what
go test ./harness/eye -run TestTheOracleIsTorch -asks ASKS wrote. Pictures are resized and texts
cut into tokens here anew, so that nothing of Go's is taken for right."""
import json, os, re, sys
from model import *

asks, data, out, golden = sys.argv[1:5]
words = json.load(open(os.path.join(data, "vocabulary.json")))["tokens"]
m = Eye(len(words))
m.load_state_dict(torch.load(os.path.join(out, "state.pt"))["model"])
m.eval()
ID = {t: i for i, t in enumerate(words)}


def letters():
    out, free = [], 256
    for b in range(256):
        if 32 < b < 127 or (b > 0xa0 and b != 0xad): out.append(chr(b))
        else: out.append(chr(free)); free += 1
    return out


LETTER = letters()
BYTE = {c: b for b, c in enumerate(LETTER)}
TEKKEN = re.compile(r"[^\r\nA-Za-z0-9]?[A-Z]*[a-z]+|[^\r\nA-Za-z0-9]?[A-Z]+[a-z]*|[0-9]| ?[^\sA-Za-z0-9]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def tokens(text):
    ids = []
    for w in TEKKEN.findall(text):
        e = "".join(LETTER[b] for b in w.encode())
        ids += [ID[e]] if e in ID else [ID[c] for c in e]
    return ids


def say(i):
    return bytes(BYTE[c] for c in words[i]).decode("latin-1")


def bilinear(a, w, h, rx, ry):
    f = np.float32
    px, py = np.arange(w, dtype=f) * f(rx), np.arange(h, dtype=f) * f(ry)
    x0, y0 = np.minimum(px.astype(int), a.shape[1] - 1), np.minimum(py.astype(int), a.shape[0] - 1)
    x1, y1 = np.minimum(x0 + 1, a.shape[1] - 1), np.minimum(y0 + 1, a.shape[0] - 1)
    tx, ty = (px - x0).astype(f)[None, :, None], (py - y0).astype(f)[:, None, None]
    a = a.astype(f)
    top, bottom = a[y0][:, x0] + (a[y0][:, x1] - a[y0][:, x0]) * tx, a[y1][:, x0] + (a[y1][:, x1] - a[y1][:, x0]) * tx
    return (top + (bottom - top) * ty).astype(np.uint8)


def prepare(a, engine):
    h, w = a.shape[:2]
    f = np.float32
    if engine == 1:  # Ollama 0.9.6
        s = min(f(1), f(SIZE) / f(w), f(SIZE) / f(h))
        W, T = (-(-int(f(e) * s) // PATCH) * PATCH for e in (w, h))
        return bilinear(a, W, T, f(w - 1) / f(W), f(h - 1) / f(T))
    near = lambda e: max(28, math.floor(e / 28 + .5) * 28)
    W, T, lo, hi = near(w), near(h), 8 * 784, 1024 * 784
    if W * T > hi:
        b = math.sqrt(w * h / hi)
        W, T = (max(28, math.floor(e / b / 28) * 28) for e in (w, h))
    elif W * T < lo:
        b = math.sqrt(lo / (w * h))
        W, T = (math.ceil(e * b / 28) * 28 for e in (w, h))
    if (W, T) == (w, h):
        return a
    s = min(f(W) / f(w), f(T) / f(h))
    nw, nh = min(math.ceil(f(w) * s), W), min(math.ceil(f(h) * s), T)
    out = np.zeros((T, W, 3), np.uint8)
    x, y = (W - nw) // 2, (T - nh) // 2
    out[y:y + nh, x:x + nw] = bilinear(a, nw, nh, f(w - 1) / f(max(nw - 1, 1)), f(h - 1) / f(max(nh - 1, 1)))
    return out


def answer(c):
    ids = [1] + ([5] + tokens(c["system"]) + [6] if c.get("system") else []) + [3] + tokens(c.get("before", ""))
    images = []
    for name, (w, h) in zip(c["pictures"] or [], c["sizes"] or []):
        a = prepare(np.fromfile(os.path.join(asks, name), np.uint8).reshape(h, w, 3), c["engine"])
        x = m.see(normalise(a[None]))[0]
        for r in range(len(x)):
            ids += [IMG] * x.shape[1] + ([BREAK] if r < len(x) - 1 else [])
        ids += [END] if c["engine"] == 0 else []
        images.append(x.reshape(-1, H))
    ids += tokens(c["after"]) + [4]
    said = []
    for _ in range(8):
        x = m(torch.tensor([ids]), torch.cat(images) if images else None)
        z = m.head(x[0, -1]).double().log_softmax(-1)
        if not said:
            top = [i for i in z.argsort(descending=True).tolist() if i == 2 or i > 13 and say(i).isascii()][:8]
            c["logprobs"] = {"" if i == 2 else say(i): round(z[i].item(), 6) for i in top if z[i] > -12}
        i = int(z.argmax())
        if i < 14: break
        said.append(i); ids.append(i)
    c["answer"] = "".join(say(i) for i in said)
    return c


with torch.no_grad():
    done = [answer(c) for c in json.load(open(os.path.join(asks, "asks.json")))]
json.dump(done, open(golden, "w"), indent=1)
print(len(done), "cases:", [c["answer"] for c in done])
