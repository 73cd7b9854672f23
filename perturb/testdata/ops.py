# Pictures that ops should give, by Pillow and numpy: writes ops.json, which golden_test.go reads.
#   apt-get install python3-pil python3-numpy; cd perturb/testdata && /usr/bin/python3 ops.py > ops.json
import base64, hashlib, json, math, sys
import numpy as np
from PIL import Image, ImageEnhance, ImageFilter, ImageOps

SIZES = [(24, 18, 3), (17, 23, 1), (13, 9, 3), (16, 16, 1), (1, 11, 1), (1, 6, 3), (10, 1, 1), (2, 3, 3)]  # width, height, channels
AT = {"X0": 20, "Y0": 30, "X1": 65, "Y1": 80}  # per cent
SEED, STEP, BITS = 7, 0x9E3779B97F4A7C15, (1 << 64) - 1

def picture(w, h, n):
    y, x, c = np.mgrid[:h, :w, :n]
    return ((37 * x + 91 * y + 59 * c + 7 * x * y + 20) % 256).astype(np.uint8)[..., 0 if n == 1 else slice(None)]
def mix(z):
    z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & BITS
    z = ((z ^ z >> 27) * 0x94D049BB133111EB) & BITS
    return z ^ z >> 31
def draws():  # SplitMix64, the stream of a condition's first op
    s = mix(SEED ^ mix(STEP))
    while True:
        s = (s + STEP) & BITS
        yield mix(s)

def whole(v): return int(math.copysign(math.floor(abs(v) + .5), v))
def grey(v): return np.floor(np.clip(v, 0, 255) + .5).astype(np.uint8)

def box(w, h, r=AT):  # lower bounds down, upper ones up, none on the last pixel, never empty
    def side(a, b, n):
        return a * n // 100, max(min(-(-b * n // 100), n - 1), a * n // 100 + 1)
    (x0, x1), (y0, y1) = side(r["X0"], r["X1"], w), side(r["Y0"], r["Y1"], h)
    return x0, y0, x1, y1
def gauss(a, sigma):  # three passes of a box whose ends count in part, mirrored at the borders
    v = sigma * sigma / 3
    r = int((math.sqrt(12 * v + 1) - 1) / 2)
    end = (2 * r + 1) * (r * (r + 1) - 3 * v) / (6 * (v - (r + 1) ** 2))
    k = np.array([end] + [1] * (2 * r + 1) + [end]) / (2 * r + 1 + 2 * end)
    blur = lambda s: np.convolve(np.pad(s, r + 1, mode="symmetric"), k, "valid")
    a = a.astype(float)
    for _ in range(3):
        a = np.apply_along_axis(blur, 1, np.apply_along_axis(blur, 0, a))
    return grey(a)
def filled(a, fill, sigma=.25):
    if fill == "blur":
        return gauss(a, sigma * min(a.shape[:2]))
    mean, sd = a.mean((0, 1)), a.std((0, 1))
    if fill == "noise":
        bells = [sum(v >> k & 0xffff for k in (0, 16, 32, 48)) - 2 * 0xffff for _, v in zip(range(a.shape[0] * a.shape[1]), draws())]
        e = np.array(bells).reshape(a.shape[:2]) / (65536 / math.sqrt(12) * 2)
        return grey(mean + (e[..., None] if a.ndim == 3 else e) * sd)
    return np.zeros_like(a) + {"black": 0, "mean": grey(mean), "white": 255}[fill]

def rotate(a, degrees):
    im, right = Image.fromarray(a), {90: Image.ROTATE_90, 180: Image.ROTATE_180, -90: Image.ROTATE_270}
    return im.transpose(right[degrees]) if degrees in right else im.rotate(degrees, Image.BILINEAR)
def crop(a, share):
    (h, w), (ch, cw) = a.shape[:2], [max(1, whole(share * n)) for n in a.shape[:2]]
    return a[(h - ch) // 2:, (w - cw) // 2:][:ch, :cw]
def shift(a, right=.1, down=0):
    out = Image.fromarray(np.zeros_like(a))
    out.paste(Image.fromarray(a), (whole(right * out.width), whole(down * out.height)))
    return out
def patches(a, n):
    h, w = a.shape[:2]
    nx, ny, d, out = min(n, w), min(n, h), draws(), a.copy()
    pw, ph, order = w // nx, h // ny, list(range(nx * ny))
    while len(order) > 1 and order == sorted(order):
        for i in range(len(order) - 1, 0, -1):
            k = next(d) * (i + 1) >> 64
            order[i], order[k] = order[k], order[i]
    at = lambda i: np.s_[i // nx * ph:i // nx * ph + ph, i % nx * pw:i % nx * pw + pw]
    for to, of in enumerate(order): out[at(to)] = a[at(of)]
    return out

def occlude(a, fill, margin=0, opacity=1, sigma=.25):
    x0, y0, x1, y1 = box(a.shape[1], a.shape[0])
    short = min(x1 - x0, y1 - y0)
    by = max(whole(margin * short), -((short - 1) // 2))
    at, out = np.s_[max(y0 - by, 0):y1 + by, max(x0 - by, 0):x1 + by], a.copy()
    out[at] = grey(a[at] + opacity * (filled(a[at], fill, sigma).astype(float) - a[at]))
    return out
def keep(a, fill, sigma=.25):
    (x0, y0, x1, y1), out = box(a.shape[1], a.shape[0]), filled(a, fill, sigma)
    out[y0:y1, x0:x1] = a[y0:y1, x0:x1]
    return out
def ring(w, h):  # a mask: an ellipse with a hole, at least a pixel
    y, x = np.mgrid[:h, :w]
    r = ((x + .5 - .45 * w) / (.4 * w)) ** 2 + ((y + .5 - .55 * h) / (.35 * h)) ** 2
    m = (r < 1) & (r > .1)
    return m if m.any() else r == r.min()
def region(m):  # COCO's run lengths, column by column
    h, w = m.shape
    flat = np.concatenate([[False], m.T.ravel()])
    at = np.flatnonzero(flat[1:] != flat[:-1]).tolist()
    ys, xs = np.nonzero(m)
    return {"X0": int(xs.min()) * h, "X1": int(xs.max() + 1) * h, "Y0": int(ys.min()) * w, "Y1": int(ys.max() + 1) * w, "Of": w * h,
            "Mask": {"size": [h, w], "counts": np.diff([0] + at + [w * h]).tolist()}}
def grown(m, margin):  # by squares; smaller as far as leaves a pixel; with the box that grows along
    ys, xs = np.nonzero(m)
    box = lambda by: np.s_[max(ys.min() - by, 0):ys.max() + 1 + by, max(xs.min() - by, 0):xs.max() + 1 + by]
    short = min(np.ptp(xs), np.ptp(ys)) + 1
    by = max(whole(margin * short), -((short - 1) // 2))
    for k in range(abs(by), 0, -1):
        im = Image.fromarray(np.pad(m, k).astype(np.uint8) * 255)
        out = np.array(im.filter((ImageFilter.MaxFilter if by > 0 else ImageFilter.MinFilter)(2 * k + 1)))[k:-k, k:-k] > 0
        if out.any(): return out, box(k if by > 0 else -k)
    return m, box(0)
def masked(a, m, fill="black", at=None, opacity=1):  # by the mask's own mean
    if fill == "blur":
        new = a.copy()
        new[at] = filled(a[at], fill)
    else:
        new = np.zeros_like(a) + (grey(a[m].mean(0)) if fill == "mean" else 0)
    out = a.copy()
    out[m] = grey(a[m] + opacity * (new[m].astype(float) - a[m]))
    return out

def turned(a, degrees):  # covered where the region's corners come to lie
    (h, w), (x0, y0, x1, y1), t = a.shape[:2], box(a.shape[1], a.shape[0]), math.radians(degrees)
    at = [complex(x - w / 2, h / 2 - y) * complex(math.cos(t), math.sin(t)) for x in (x0, x1) for y in (y0, y1)]
    xs, ys, out = [z.real + w / 2 for z in at], [h / 2 - z.imag for z in at], np.array(rotate(a, degrees))
    low, high = lambda v: max(0, math.floor(min(v))), lambda v: max(0, math.ceil(max(v)))
    out[low(ys):high(ys), low(xs):high(xs)] = 0
    return out

def cases(a):  # what is done, what comes out, whether that is to be equal
    im, colour = Image.fromarray(a), a.ndim == 3
    op = lambda name, fill="", at=False, **params: {"Name": name, "Fill": fill, "Params": params, "Regions": [AT] if at else []}
    for d in (10, -37.5, 130, 90, -90, 180): yield [op("rotate", degrees=d)], rotate(a, d), d % 90 == 0
    yield from (([op("flip")], ImageOps.mirror(im), True), ([op("flip", "up-down")], ImageOps.flip(im), True))
    for s in (.1, .5, .8): yield [op("crop", share=s)], crop(a, s), True
    for s in ({}, {"right": -.3, "down": .25}, {"down": -.5}): yield [op("shift", **s)], shift(a, **s), True
    for g in (.3, 2, 7.5): yield [op("gamma", gamma=g)], grey(255 * (a / 255.) ** g), False
    for f in (0, .4, 3): yield [op("saturation", factor=f)], ImageEnhance.Color(im).enhance(f) if colour else a, False
    yield from (([op("invert")], ImageOps.invert(im), True), ([op("channels")], a[..., ::-1] if colour else a, True))
    for f in ("mean", "black", "white"): yield [op("blank", f)], filled(a, f), True
    yield [op("static")], filled(a, "noise"), False
    for n in (2, 4, 7): yield [op("patches", n=n)], patches(a, n), True
    for f in ("black", "mean", "noise"): yield [op("keep", f, True)], keep(a, f), f == "black"
    for s in (.05, .25, 1): yield [op("keep", "blur", True, sigma=s)], keep(a, "blur", s), False
    for f in ("black", "mean", "blur", "noise"):
        for p in ({"margin": -.3}, {"margin": .2, "opacity": .9}, {"margin": 1.5, "opacity": .25}):
            yield [op("occlude", f, True, **p)], occlude(a, f, **p), f in ("black", "mean") and "opacity" not in p
    for d in (10, -37.5, 130): yield [op("rotate", degrees=d), op("occlude", "black", True)], turned(a, d), False
    m = ring(a.shape[1], a.shape[0])
    over = lambda name, fill="", **params: {**op(name, fill, **params), "Regions": [region(m)]}
    for f in ("black", "mean", "blur"):
        for p in ({}, {"margin": .2}, {"margin": -.15}, {"margin": -.45}, {"margin": 1.5}, {"opacity": .25}):
            yield [over("occlude", f, **p)], masked(a, *(lambda g: (g[0], f, g[1]))(grown(m, p.get("margin", 0))), p.get("opacity", 1)), f != "blur" and "opacity" not in p
    yield [over("keep", "black")], np.where(m if a.ndim == 2 else m[..., None], a, 0), True
    for d in (90, 180, -90): yield [op("rotate", degrees=d), over("occlude", "black")], rotate(masked(a, m), d), True
    yield from (([op("flip"), over("occlude", "black")], ImageOps.mirror(Image.fromarray(masked(a, m))), True), ([op("crop", share=.8), over("occlude", "black")], crop(masked(a, m), .8), True))

out = []
for i, size in enumerate(SIZES):
    for ops, got, exact in cases(picture(*size)):
        got = np.ascontiguousarray(got)
        what = {"sha256": hashlib.sha256(got).hexdigest()} if exact else {"pix": base64.b64encode(got).decode()}
        out.append({"picture": i, "ops": ops, "w": got.shape[1], "h": got.shape[0], **what})
json.dump({"pictures": SIZES, "seed": SEED, "cases": out}, sys.stdout, separators=(",", ":"))
