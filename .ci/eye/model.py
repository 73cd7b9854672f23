"""The model of harness/eye as llama.cpp computes it (architecture llama behind a projector of
kind pixtral), and its two GGUF files."""
import json, math, struct
import numpy as np, torch, torch.nn as nn, torch.nn.functional as F

SIZE, PATCH, MERGE = 448, 14, 2
H, L, HEADS, KV, HD, FF = 64, 4, 4, 2, 32, 160           # text
VH, VL, VHEADS, VHD, VFF = 96, 3, 3, 32, 192             # vision
EPS, BASE = 1e-5, 10000.0
MEAN = np.array([0.48145466, 0.4578275, 0.40821073], np.float32)
STD = np.array([0.26862954, 0.26130258, 0.27577711], np.float32)
PAD, BREAK, IMG, END = 11, 12, 10, 13
FACTS, CLASSES = 18, 5                                    # what the auxiliary head is asked in training
CHAT = ("{{ bos_token }}{%- for m in messages -%}{%- if m.role == 'system' -%}[SYSTEM_PROMPT]{{ m.content }}[/SYSTEM_PROMPT]"
        "{%- elif m.role == 'user' -%}[INST]{%- if m.content is string -%}{{ m.content }}{%- else -%}{%- for p in m.content -%}"
        "{%- if p.text is defined -%}{{ p.text }}{%- else -%}[IMG]{%- endif -%}{%- endfor -%}{%- endif -%}[/INST]"
        "{%- elif m.role == 'assistant' -%}{{ m.content }}{{ eos_token }}{%- endif -%}{%- endfor -%}")


def normalise(u8):
    """[n, h, w, 3] bytes to [n, 3, h, w]."""
    return torch.from_numpy(((u8.astype(np.float32) / np.float32(255) - MEAN) / STD).transpose(0, 3, 1, 2).copy())


def rms(x, w):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + EPS) * w


def angles(pos, dims, scale=1.0):
    t = pos.float()[:, None] * (BASE ** (-torch.arange(0, dims, 2).float() / dims) * scale)
    return t.cos(), t.sin()


def rotate(x, cs):
    """Turns pairs of neighbours, ggml's normal rope."""
    c, s = cs
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * c - b * s, a * s + b * c), -1).flatten(-2)


class Lin(nn.Module):
    def __init__(self, i, o, gain=1.0):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(o, i) * gain / math.sqrt(i))

    def forward(self, x):
        return F.linear(x, self.weight)


class Block(nn.Module):
    def __init__(self, h, heads, kv, hd, ff, depth):
        super().__init__()
        self.heads, self.kv, self.hd = heads, kv, hd
        g = 1 / math.sqrt(2 * depth)
        self.n1, self.n2 = nn.Parameter(torch.ones(h)), nn.Parameter(torch.ones(h))
        self.q, self.k, self.v, self.o = Lin(h, heads * hd), Lin(h, kv * hd), Lin(h, kv * hd), Lin(heads * hd, h, g)
        self.gate, self.up, self.down = Lin(h, ff), Lin(h, ff), Lin(ff, h, g)

    def forward(self, x, rope, mask=None):
        n, t, _ = x.shape
        y = rms(x, self.n1)
        split = lambda z, k: z.view(n, t, k, self.hd).transpose(1, 2)
        q, k, v = rope(split(self.q(y), self.heads)), rope(split(self.k(y), self.kv)), split(self.v(y), self.kv)
        if self.kv != self.heads:
            k, v = k.repeat_interleave(self.heads // self.kv, 1), v.repeat_interleave(self.heads // self.kv, 1)
        a = q @ k.transpose(-1, -2) / math.sqrt(self.hd)
        if mask is not None:
            a = a + mask
        x = x + self.o((a.softmax(-1) @ v).transpose(1, 2).reshape(n, t, -1))
        y = rms(x, self.n2)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Eye(nn.Module):
    def __init__(self, vocabulary):
        super().__init__()
        self.patch = nn.Parameter(torch.randn(VH, 3, PATCH, PATCH) / math.sqrt(3 * PATCH * PATCH))
        self.pre = nn.Parameter(torch.ones(VH))
        self.vis = nn.ModuleList(Block(VH, VHEADS, VHEADS, VHD, VFF, VL) for _ in range(VL))
        self.mmnorm = nn.Parameter(torch.ones(VH))
        self.merge, self.mm1, self.mm2 = Lin(VH * MERGE * MERGE, VH), Lin(VH, H), Lin(H, H)
        self.emb = nn.Parameter(torch.randn(vocabulary, H) * .5)
        self.txt = nn.ModuleList(Block(H, HEADS, KV, HD, FF, L) for _ in range(L))
        self.norm = nn.Parameter(torch.ones(H))
        self.out = Lin(H, vocabulary)
        # Only training uses these: each fact of a picture, read from its tokens.
        self.ask = nn.Parameter(torch.randn(FACTS, H) / math.sqrt(H))
        self.fact = nn.Parameter(torch.randn(FACTS, H, CLASSES) / math.sqrt(H))

    def see(self, px):
        """[n, 3, h, w] to [n, rows, columns, H]."""
        x = F.conv2d(px, self.patch, stride=PATCH)
        n, _, r, c = x.shape
        x = rms(x.flatten(2).transpose(1, 2), self.pre)
        i, d = torch.arange(r * c), VHD // 2
        rows, columns = angles(torch.div(i, c, rounding_mode="floor"), d), angles(i % c, d, BASE ** (-2 / VHD))
        rope = lambda t: torch.cat((rotate(t[..., :d], rows), rotate(t[..., d:], columns)), -1)
        for b in self.vis:
            x = b(x, rope)
        x = rms(x, self.mmnorm).transpose(1, 2).view(n, VH, r, c)
        x = self.merge(F.unfold(x, MERGE, stride=MERGE).transpose(1, 2))
        x = self.mm2(F.gelu(self.mm1(x), approximate="tanh"))
        return x.view(n, r // MERGE, c // MERGE, H)

    def facts(self, seen):
        x = seen.flatten(1, 2)
        a = (self.ask @ x.transpose(1, 2) / math.sqrt(H) * 4).softmax(-1)
        return torch.einsum("nfh,fhc->nfc", a @ x, self.fact)

    def forward(self, tokens, images=None):
        """tokens [n, t]; where they are IMG, images has what stands there, in order: hidden states."""
        x = self.emb[tokens]
        if images is not None:
            x = x.masked_scatter((tokens == IMG)[..., None], images)
        t = x.shape[1]
        cs = angles(torch.arange(t), HD)
        mask = torch.full((t, t), float("-inf")).triu(1)
        for b in self.txt:
            x = b(x, lambda z: rotate(z, cs), mask)
        return x

    def head(self, x):
        return self.out(rms(x, self.norm))


def expand(ids, rows, columns, end):
    """Puts as many IMG as a picture has tokens, breaks between its rows, and END behind it."""
    out = []
    for t in ids:
        if t == IMG:
            for r in range(rows):
                out += [IMG] * columns + ([BREAK] if r < rows - 1 else [])
            out += [END] if end else []
        else:
            out.append(t)
    return out


# ---- GGUF --------------------------------------------------------------------
def gguf(path, kvs, tensors):
    text = lambda t: struct.pack("<Q", len(t.encode())) + t.encode()

    def value(v):
        if isinstance(v, bool): return struct.pack("<I?", 7, v)
        if isinstance(v, int): return struct.pack("<II", 4, v)
        if isinstance(v, float): return struct.pack("<If", 6, v)
        if isinstance(v, str): return struct.pack("<I", 8) + text(v)
        k = {int: 5, float: 6, str: 8}[type(v[0])]
        b = b"".join(text(x) for x in v) if k == 8 else struct.pack("<%d%s" % (len(v), "i" if k == 5 else "f"), *v)
        return struct.pack("<IIQ", 9, k, len(v)) + b

    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(kvs)) + b"".join(text(k) + value(v) for k, v in kvs)
    at, info, data = 0, b"", []
    for name, t in tensors:
        a = np.ascontiguousarray(t.detach().numpy().astype("<f4"))
        shape = a.shape[::-1]
        info += text(name) + struct.pack("<I%dQIQ" % len(shape), len(shape), *shape, 0, at)
        b = a.tobytes()
        b += bytes(-len(b) % 32)
        data.append(b)
        at += len(b)
    head += info
    open(path, "wb").write(head + bytes(-len(head) % 32) + b"".join(data))


def export(m, words, text, projector):
    about = lambda arch, kind: [("general.architecture", arch), ("general.name", "assay eye"), ("general.type", kind),
        ("general.license", "same as assay's LICENSE"), ("general.file_type", 0), ("general.quantization_version", 2)]
    block = lambda p, b, n1, o, n2: [(p + n1, b.n1), (p + "attn_q.weight", b.q.weight), (p + "attn_k.weight", b.k.weight),
        (p + "attn_v.weight", b.v.weight), (p + o, b.o.weight), (p + n2, b.n2),
        (p + "ffn_gate.weight", b.gate.weight), (p + "ffn_up.weight", b.up.weight), (p + "ffn_down.weight", b.down.weight)]
    A, T = "llama.", "tokenizer."
    kv = about("llama", "model") + [(A + "vocab_size", len(words["tokens"])), (A + "context_length", 4096), (A + "embedding_length", H),
        (A + "block_count", L), (A + "feed_forward_length", FF), (A + "attention.head_count", HEADS), (A + "attention.head_count_kv", KV),
        (A + "attention.key_length", HD), (A + "attention.value_length", HD), (A + "attention.layer_norm_rms_epsilon", EPS),
        (A + "rope.dimension_count", HD), (A + "rope.freq_base", BASE),
        (T + "ggml.model", "gpt2"), (T + "ggml.pre", "tekken"), (T + "ggml.tokens", words["tokens"]), (T + "ggml.token_type", words["types"]),
        (T + "ggml.merges", words["merges"]), (T + "ggml.bos_token_id", 1), (T + "ggml.eos_token_id", 2), (T + "ggml.unknown_token_id", 0),
        (T + "ggml.padding_token_id", PAD), (T + "ggml.add_bos_token", True), (T + "ggml.add_eos_token", False), (T + "chat_template", CHAT)]
    t = [("token_embd.weight", m.emb), ("output_norm.weight", m.norm), ("output.weight", m.out.weight)]
    for i, b in enumerate(m.txt):
        t += block(f"blk.{i}.", b, "attn_norm.weight", "attn_output.weight", "ffn_norm.weight")
    gguf(text, kv, t)
    C = "clip.vision."
    kv = about("clip", "mmproj") + [("clip.has_vision_encoder", True), ("clip.projector_type", "pixtral"), (C + "image_size", SIZE),
        (C + "patch_size", PATCH), (C + "embedding_length", VH), (C + "feed_forward_length", VFF), (C + "projection_dim", H),
        (C + "block_count", VL), (C + "attention.head_count", VHEADS), (C + "attention.layer_norm_epsilon", EPS),
        (C + "image_mean", [float(x) for x in MEAN]), (C + "image_std", [float(x) for x in STD]), (C + "spatial_merge_size", MERGE),
        ("clip.use_silu", True)]
    t = [("v.patch_embd.weight", m.patch), ("v.pre_ln.weight", m.pre)]
    for i, b in enumerate(m.vis):
        t += block(f"v.blk.{i}.", b, "ln1.weight", "attn_out.weight", "ln2.weight")
    t += [("mm.input_norm.weight", m.mmnorm), ("mm.patch_merger.weight", m.merge.weight), ("mm.1.weight", m.mm1.weight),
          ("mm.2.weight", m.mm2.weight), ("v.token_embd.img_break", m.emb[BREAK])]
    gguf(projector, kv, t)
