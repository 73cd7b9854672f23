"""Reads answers.json out of the recordings beside it, so that the expectations
of the tests come from another program than the one under test:

    python3 answers.py > answers.json
"""
import glob
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def body(raw):
    """Status, decoded body, and for each body byte the raw offset behind it."""
    head, rest = raw.split(b"\r\n\r\n", 1)
    lines = head.split(b"\r\n")
    fields = dict((k.strip().lower(), v.strip()) for k, _, v in (line.partition(b":") for line in lines[1:]))
    base, out, ends = len(head) + 4, bytearray(), []
    if fields.get(b"transfer-encoding") != b"chunked":
        return int(lines[0].split()[1]), rest, [base + i + 1 for i in range(len(rest))]
    i = 0
    while i < len(rest):
        j = rest.index(b"\r\n", i)
        size = int(rest[i:j], 16)
        if size == 0:
            break
        out += rest[j + 2 : j + 2 + size]
        ends += range(base + j + 3, base + j + 3 + size)
        i = j + 4 + size
    return int(lines[0].split()[1]), bytes(out), ends


def lines_of(data):
    """Each line with the index of its newline."""
    at = 0
    for line in data.split(b"\n"):
        yield line, min(at + len(line), len(data) - 1)
        at += len(line) + 1


def finish(reason):
    return reason if reason in ("stop", "length") else "other"


def read(name, kind):
    raw = open(os.path.join(HERE, name + ".response.http"), "rb").read()
    times = [(float(a), int(b)) for a, b in (row.split() for row in open(os.path.join(HERE, name + ".times.tsv")))]
    status, data, ends = body(raw)
    if status != 200:
        return None
    e = {"api": kind, "answer": "", "chunks": 0}

    def piece(text, end):
        if text:
            ms = next(ms for ms, got in times if got >= ends[end])
            e.setdefault("first_ms", ms)
            e["last_ms"] = ms
            e["chunks"] += 1
            e["answer"] += text

    complete = False
    for line, end in lines_of(data):
        if kind == "ollama" and line.strip():
            j = json.loads(line)
            if "error" in j:
                return None
            piece(j["message"]["content"], end)
            if j["done"]:
                complete = True
                e["finish"] = finish(j["done_reason"])
                for theirs, ours in (("prompt_eval_count", "prompt_tokens"), ("eval_count", "completion_tokens"),
                                     ("total_duration", "total_ns"), ("load_duration", "load_ns"),
                                     ("prompt_eval_duration", "prompt_ns"), ("eval_duration", "decode_ns")):
                    if theirs in j:
                        e[ours] = j[theirs]
        elif kind != "ollama" and line.startswith(b"data: "):
            if line == b"data: [DONE]":
                complete = True
                continue
            j = json.loads(line[6:])
            for c in j["choices"]:
                piece(c["delta"].get("content") or "", end)
                if c["finish_reason"]:
                    e["finish"] = finish(c["finish_reason"])
            if j.get("usage"):
                u = j["usage"]
                e["prompt_tokens"], e["completion_tokens"] = u["prompt_tokens"], u["completion_tokens"]
                if "prompt_tokens_details" in u:
                    e["cached_tokens"] = u["prompt_tokens_details"]["cached_tokens"]
            if "timings" in j:
                t = j["timings"]
                e["prompt_ms"], e["decode_ms"], e["cached_tokens"] = t["prompt_ms"], t["predicted_ms"], t["cache_n"]
                if not j.get("usage"):  # then the server's timings are all it says of counts
                    e["prompt_tokens"], e["completion_tokens"] = t["cache_n"] + t["prompt_n"], t["predicted_n"]
    return e if complete else None


def main():
    out = {}
    for path in sorted(glob.glob(os.path.join(HERE, "*", "*.response.http"))):
        name = os.path.relpath(path, HERE)[: -len(".response.http")].replace(os.sep, "/")
        folder, leaf = name.split("/")
        kind = "llamacpp" if folder.startswith("llama-server") else "openai" if leaf.startswith("v1-") else "ollama"
        try:
            e = read(name, kind)
        except (KeyError, ValueError, IndexError, TypeError):
            continue  # no chat stream, or one that was cut
        if e and e["chunks"]:
            out[name] = e
    json.dump(out, sys.stdout, indent=1, ensure_ascii=False, sort_keys=True)
    print()


main()
