"""The peer of the embedding: onnxruntime on the same file and texts, one thread. Prints one line of JSON.

Run it with the Python of the bench's own environment: ort.py MODEL VOCABULARY ROUNDS TEXT...
"""

import json
import sys
import time

import numpy
import onnxruntime

model, vocabulary, rounds, *texts = sys.argv[1:]
with open(vocabulary, encoding="utf-8") as file:
    number = {word.rstrip("\n"): place for place, word in enumerate(file)}

options = onnxruntime.SessionOptions()
options.intra_op_num_threads = options.inter_op_num_threads = 1
begun = time.process_time()
session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
found = {"version": onnxruntime.__version__, "loadCpuMs": (time.process_time() - begun) * 1e3, "texts": []}

for text in texts:
    # Every word of these texts is one token.
    ids = [number[word] for word in ["[CLS]", *text.split(), "[SEP]"]]
    given = {"input_ids": numpy.array([ids], dtype=numpy.int64)}
    vector = session.run(None, given)[0].reshape(-1)
    begun = time.process_time()
    for _ in range(int(rounds)):
        session.run(None, given)
    spent = (time.process_time() - begun) * 1e3 / int(rounds)
    found["texts"].append({"tokens": len(ids), "cpuMs": spent, "vector": [float(part) for part in vector]})
print(json.dumps(found))
