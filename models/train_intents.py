#!/usr/bin/env python3
"""Trains the upper layers of the embedding model to tell what a sentence means, and writes reflex-intents.onnx.

  train_intents.py SENTENCES.jsonl [--epochs 3] [--apart]   train on what `make intents` exported, write the file beside this script
                                                            (--apart: leave out the sentences held apart, and judge by them)

The lower layers and the word table stay those of all-MiniLM-L6-v2.int8.onnx. Beside the intents it learns which words are
arguments, which makes the layers better at intents and is not written. Needs jax, optax, onnx, numpy; 20 minutes on two cores.
"""

import argparse
import json
import random
import time
import unicodedata
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import onnx
import optax
from onnx import helper, numpy_helper

from build import quantize_rows

HERE = Path(__file__).resolve().parent
LAYERS, TUNED, WIDTH, HEADS, MOST, BATCH, BLOCK = 6, 3, 384, 12, 48, 64, 64
LINEAR = "q k v o up down".split()
NORMS = {"a": "attention.output.LayerNorm", "f": "output.LayerNorm"}

# --- words to tokens, as src/embed/wordpiece.rs does it, with the place of each in the text

VOCABULARY = {word.rstrip("\n"): i for i, word in enumerate(open(HERE / "vocab.txt", encoding="utf8"))}


def split(text):
    words, word, start = [], "", 0
    for i, char in enumerate([*text, " "]):
        sign = unicodedata.category(char).startswith("P") or char in "$+<=>^`|~€£"
        if char.isspace() or sign:
            if word:
                words.append((word, start, i))
            word = ""
        if sign:
            words.append((char, i, i + 1))
        elif not char.isspace():
            start = start if word else i
            word += "".join(c for c in unicodedata.normalize("NFD", char.lower()) if unicodedata.category(c) != "Mn")
    return words


def pieces(word):
    found, start = [], 0
    while start < len(word):
        ends = range(len(word), start, -1)
        end = next((e for e in ends if ("##" if start else "") + word[start:e] in VOCABULARY), None)
        if end is None:
            return [VOCABULARY["[UNK]"]]
        found.append(VOCABULARY[("##" if start else "") + word[start:end]])
        start = end
    return found


def tokens(text):
    ids, spans = [VOCABULARY["[CLS]"]], [None]
    for word, start, end in split(text):
        for i, piece in enumerate(pieces(word)):
            ids.append(piece)
            spans.append(None if i else (start, end))
    return ids[: MOST - 1] + [VOCABULARY["[SEP]"]], spans[: MOST - 1] + [None]


# --- the model


def original():
    graph = onnx.load(HERE / "all-MiniLM-L6-v2.int8.onnx").graph
    constants = {c.name: numpy_helper.to_array(c) for c in graph.initializer}
    tables = {
        "word": constants["emb.word"].astype("f4") * constants["emb.word.scale"],
        "position": constants["emb.pos"],
        "gain": constants["embeddings.LayerNorm.g"],
        "bias": constants["embeddings.LayerNorm.b"],
    }
    layers = []
    for place in range(LAYERS):
        layer = {}
        for name in LINEAR:
            rows = constants[f"l{place}.{name}.w"].astype("f4") * constants[f"l{place}.{name}.ws"][:, None]
            layer[name], layer[name + ".b"] = rows.reshape(constants[f"l{place}.{name}.shape"]), constants[f"l{place}.{name}.b"]
        for short, name in NORMS.items():
            for part in "gb":
                layer[f"{short}.{part}"] = constants[f"encoder.layer.{place}.{name}.{part}"]
        layers.append(layer)
    return jax.tree.map(jnp.asarray, (tables, layers))


def normalised(x, gain, bias):
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-12) * gain + bias


def dropped(x, key, share):
    return jnp.where(jax.random.bernoulli(key, 1 - share, x.shape), x / (1 - share), 0) if share else x


def one_layer(layer, x, mask, key, share):
    batch, length, _ = x.shape
    heads = lambda name: (x @ layer[name] + layer[name + ".b"]).reshape(batch, length, HEADS, -1).transpose(0, 2, 1, 3)
    query, keys, value = heads("q"), heads("k"), heads("v")  # 1/sqrt(width of a head) is in the weights of the query
    mixed = jax.nn.softmax(jnp.einsum("bhid,bhjd->bhij", query, keys) + mask) @ value
    mixed = mixed.transpose(0, 2, 1, 3).reshape(batch, length, WIDTH) @ layer["o"] + layer["o.b"]
    x = normalised(x + dropped(mixed, jax.random.fold_in(key, 0), share), layer["a.g"], layer["a.b"])
    inner = jax.nn.gelu(x @ layer["up"] + layer["up.b"], approximate=False) @ layer["down"] + layer["down.b"]
    return normalised(x + dropped(inner, jax.random.fold_in(key, 1), share), layer["f.g"], layer["f.b"])


def forward(tables, lower, weights, ids, key, share):
    mask = jnp.where(ids > 0, 0.0, -1e9)[:, None, None, :]
    x = normalised(tables["word"][ids] + tables["position"][: ids.shape[1]], tables["gain"], tables["bias"])
    for layer in lower:
        x = one_layer(layer, x, mask, key, 0)
    x = jax.lax.stop_gradient(x)
    for i, layer in enumerate(weights["layers"]):
        x = one_layer(layer, x, mask, jax.random.fold_in(key, i + 10), share)
    there = (ids > 0)[..., None]
    features = jnp.concatenate([(x * there).sum(1) / jnp.maximum(there.sum(1), 1), x[:, 0]], -1)
    features = dropped(features, jax.random.fold_in(key, 99), share)
    score = lambda x, of: x @ weights[of]["w"] + weights[of]["b"]
    return score(features, "intents"), score(x, "slots")


# --- training


def encoded(row, intents, slots):
    ids, spans = tokens(row["text"])
    values = [] if row["class"].startswith("/") else [v for v in row["values"] if v[0] in slots]
    tags, last = [], None
    for span in spans:
        inside = [i for i, (_, start, end) in enumerate(values) if span and span[0] < end and span[1] > start]
        inside = inside[0] if inside else None
        if span is None:
            tags.append(-1)  # the later pieces of a word
            continue
        tags.append(0 if inside is None else 1 + 2 * slots[values[inside][0]] + (inside == last))
        last = inside
    return ids, tags, intents[row["class"]]


def batches(rows, shuffled):
    order = list(range(len(rows)))
    if shuffled:
        random.shuffle(order)
    groups = []
    for start in range(0, len(order), BATCH * 40):
        near = sorted(order[start : start + BATCH * 40], key=lambda i: len(rows[i][0]))
        groups += [near[at : at + BATCH] for at in range(0, len(near), BATCH)]
    if shuffled:
        random.shuffle(groups)
    for group in groups:
        width = next(w for w in (12, 16, 20, 24, 32, MOST) if w >= max(len(rows[i][0]) for i in group))
        ids, tags, right = np.zeros((BATCH, width), "i4"), -np.ones((BATCH, width), "i4"), -np.ones(BATCH, "i4")
        for at, i in enumerate(group):
            ids[at, : len(rows[i][0])], tags[at, : len(rows[i][1])], right[at] = rows[i]
        yield ids, tags, right


def costs(weights, tables, lower, ids, tags, right, key):
    intents, slots = forward(tables, lower, weights, ids, key, 0.1)
    some = right >= 0
    cost = 0.95 * optax.softmax_cross_entropy_with_integer_labels(intents, jnp.maximum(right, 0))
    cost = ((cost - 0.05 * jax.nn.log_softmax(intents).mean(-1)) * some).sum() / some.sum()
    tagged = tags >= 0
    tagging = optax.softmax_cross_entropy_with_integer_labels(slots, jnp.maximum(tags, 0))
    return cost + 2 * (tagging * tagged).sum() / tagged.sum()


def trained(rows, intents, slots, epochs, judge):
    tables, layers = original()
    lower, key = layers[: LAYERS - TUNED], jax.random.PRNGKey(0)
    linear = lambda inputs, outputs: {"w": jax.random.normal(key, (inputs, outputs)) * 0.02, "b": jnp.zeros(outputs)}
    weights = {"layers": layers[LAYERS - TUNED :], "intents": linear(2 * WIDTH, len(intents)), "slots": linear(WIDTH, 1 + 2 * len(slots))}
    steps = int(len(rows) / BATCH * epochs)
    rate = lambda peak: optax.warmup_cosine_decay_schedule(0, peak, int(steps * 0.06), steps, peak * 0.02)
    kinds = {"layers": "layers", "intents": "scores", "slots": "scores"}
    method = optax.multi_transform({"layers": optax.adamw(rate(1.2e-4), weight_decay=0.01), "scores": optax.adamw(rate(1e-3), weight_decay=0.01)}, kinds)
    method = optax.chain(optax.clip_by_global_norm(1.0), method)
    state = method.init(weights)

    @jax.jit
    def step(weights, state, tables, lower, ids, tags, right, key):
        cost, slopes = jax.value_and_grad(costs)(weights, tables, lower, ids, tags, right, key)
        change, state = method.update(slopes, state, weights)
        return optax.apply_updates(weights, change), state, cost

    done, began = 0, time.time()
    while done < steps:
        for batch in batches(rows, True):
            weights, state, cost = step(weights, state, tables, lower, *batch, jax.random.fold_in(key, done))
            done += 1
            if done % 200 == 0:
                print(f"{done} of {steps}: {float(cost):.3f}, {time.time() - began:.0f} s", flush=True)
            if done == steps:
                break
    if judge:
        look = jax.jit(lambda weights, tables, lower, ids: forward(tables, lower, weights, ids, key, 0)[0].argmax(-1))
        hits = [(np.asarray(look(weights, tables, lower, ids)) == right)[right >= 0] for ids, _, right in batches(judge, False)]
        print(f"{len(judge)} held apart: {np.concatenate(hits).mean():.3f} right")
    return jax.tree.map(np.asarray, weights)


def written(weights, names):
    constants = [numpy_helper.from_array(np.frombuffer("\n".join(names).encode(), "u1"), "names")]
    constants.append(numpy_helper.from_array(np.array([LAYERS - TUNED], "u1"), "first"))

    def linear(name, weight, bias):
        values, scales = quantize_rows(np.ascontiguousarray(weight, "f4").reshape(-1, BLOCK))
        for end, value in {".w": values, ".ws": scales, ".b": bias.astype("f4")}.items():
            constants.append(numpy_helper.from_array(value, name + end))

    for place, layer in enumerate(weights["layers"], LAYERS - TUNED):
        for name in LINEAR:
            linear(f"l{place}.{name}", layer[name], layer[name + ".b"])
        for short, name in NORMS.items():
            for part in "gb":
                constants.append(numpy_helper.from_array(layer[f"{short}.{part}"], f"encoder.layer.{place}.{name}.{part}"))
    scores, unnamed = weights["intents"], -len(names) % BLOCK
    linear("intents", np.pad(scores["w"], ((0, 0), (0, unnamed))), np.pad(scores["b"], (0, unnamed)))
    graph = helper.make_graph([], "intents", [], [], constants)
    return helper.make_model(graph).SerializeToString()


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("sentences")
    words.add_argument("--epochs", type=float, default=3)
    words.add_argument("--apart", action="store_true")
    given = words.parse_args()
    random.seed(1)
    rows = [json.loads(line) for line in open(given.sentences, encoding="utf8")]
    names = sorted({row["class"] for row in rows})
    intents = {name: i for i, name in enumerate(names)}
    slots = {name: i for i, name in enumerate(sorted({v[0] for row in rows if row["class"][0] != "/" for v in row["values"]}))}
    held = lambda row: given.apart and row["apart"] and not row["template"]
    learnt, judge = [row for row in rows if not held(row)], [row for row in rows if held(row) and not row["altered"]]
    print(f"{len(learnt)} sentences, {len(names)} intents, {len(slots)} arguments", flush=True)
    ready = lambda rows: [encoded(row, intents, slots) for row in rows]
    weights = trained(ready(learnt), intents, slots, given.epochs, ready(judge))
    (HERE / "reflex-intents.onnx").write_bytes(written(weights, names))


if __name__ == "__main__":
    main()
