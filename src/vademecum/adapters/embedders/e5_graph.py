"""How do the weights become an ONNX graph that onnxruntime runs on the CPU?

The six matrices of a layer stay in 4 bits (MatMulNBits; query, key and value joined in one) and
so does the word table (GatherBlockQuantized), so the file is as small as its source. The graph is
written in onnxruntime's own fused operators: nothing is left to optimise when a session opens.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from vademecum.adapters.embedders.e5_weights import Quantised, Weights

if TYPE_CHECKING:
    import onnx

_FUSED: Final = "com.microsoft"
_BLOCK: Final = 32
_OPSET, _IR_VERSION = 21, 10  # the first with 4-bit tensors; onnxruntime reads them from 1.20 on
_INT8_PRODUCTS: Final = 4  # accuracy_level: multiply in 8 bits, each block of 32 with its own scale


def write_graph(weights: Weights, path: Path) -> None:
    """Write the encoder to `path`.

    Inputs `input_ids` and `attention_mask`, int64, shape (batch, tokens), tokens up to 512;
    output `last_hidden_state`, float32, shape (batch, tokens, hidden).
    """
    import onnx

    onnx.save(_Graph(weights).model(), path)


class _Graph:
    """Collect the nodes and constants of one encoder."""

    def __init__(self, weights: Weights) -> None:
        self.weights = weights
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def model(self) -> "onnx.ModelProto":
        from onnx import TensorProto, helper

        weights = self.weights
        self.constant("row", np.array([weights.hidden] * 3, np.int64))
        self.node("Cast", ["attention_mask"], "mask", to=TensorProto.INT32)
        state = self.embeddings()
        for layer in range(weights.layers):
            state = self.layer(layer, state)
        self.node("Identity", [state], "last_hidden_state")
        ids = [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
            for name in ("input_ids", "attention_mask")
        ]
        out = helper.make_tensor_value_info(
            "last_hidden_state", TensorProto.FLOAT, ["batch", "tokens", weights.hidden]
        )
        graph = helper.make_graph(self.nodes, "multilingual-e5-small", ids, [out], self.constants)
        opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_FUSED, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION)

    def embeddings(self) -> str:
        """Word + position + the one token type, normalised."""
        from onnx import TensorProto, helper

        weights = self.weights
        words = weights.quantised["emb.word"]
        rows = len(words.scales)
        # Nibble - 8 in 4-bit two's complement is the nibble with its top bit turned.
        packed = (words.paired() ^ 0x88).tobytes()
        self.constants.append(
            helper.make_tensor("words", TensorProto.INT4, [rows, weights.hidden], packed, raw=True)
        )
        self.constant("words.scales", words.scales)
        attributes = {"gather_axis": 0, "quantize_axis": 1, "block_size": _BLOCK}
        gather = ["words", "input_ids", "words.scales"]
        half = self.node("GatherBlockQuantized", gather, "word.half", _FUSED, **attributes)
        word = self.node("Cast", [half], "word", to=TensorProto.FLOAT)
        positions = self.plain("emb.pos").reshape(-1, weights.hidden)
        self.constant("positions", positions + self.plain("emb.type")[: weights.hidden])
        self.constant("zero", np.array([0], np.int64))
        self.node("Shape", ["input_ids"], "length", start=1, end=2)
        place = self.node("Slice", ["positions", "zero", "length", "zero"], "place")
        total = self.node("Add", [word, place], "embedded")
        norm = [self.tensor("emb.ln.w"), self.tensor("emb.ln.b")]
        epsilon = weights.epsilon
        return self.node("LayerNormalization", [total, *norm], "state", axis=-1, epsilon=epsilon)

    def layer(self, index: int, state: str) -> str:
        """Self-attention and feed-forward, each added to its input and normalised after."""
        at = f"l{index}."
        joined = self.matmul(state, [f"{at}{part}.w" for part in "qkv"], f"{at}qkv")
        parts = [f"{at}{part}" for part in "qkv"]
        self.split(joined, parts)
        bias = np.concatenate([self.plain(f"{part}.b") for part in parts])
        inputs = [*parts, self.constant(f"{at}qkv.b", bias), "mask"]
        heads = self.weights.heads
        mixed = self.node("MultiHeadAttention", inputs, f"{at}mixed", _FUSED, num_heads=heads)
        attended = self.matmul(mixed, [f"{at}ao.w"], f"{at}ao")
        middle = self.add_and_normalise(attended, state, f"{at}ao.b", f"{at}aln")
        wide = self.matmul(middle, [f"{at}fi.w"], f"{at}fi")
        active = self.node("BiasGelu", [wide, self.tensor(f"{at}fi.b")], f"{at}gelu", _FUSED)
        narrow = self.matmul(active, [f"{at}fo.w"], f"{at}fo")
        return self.add_and_normalise(narrow, middle, f"{at}fo.b", f"{at}oln")

    def split(self, joined: str, parts: list[str]) -> None:
        from onnx import helper

        self.nodes.append(helper.make_node("Split", [joined, "row"], parts, axis=-1))

    def add_and_normalise(self, value: str, skip: str, bias: str, norm: str) -> str:
        scale, shift = self.tensor(f"{norm}.w"), self.tensor(f"{norm}.b")
        inputs = [value, skip, scale, shift, self.tensor(bias)]
        epsilon = self.weights.epsilon
        return self.node("SkipLayerNormalization", inputs, f"{norm}.out", _FUSED, epsilon=epsilon)

    def matmul(self, value: str, names: list[str], output: str) -> str:
        """Multiply by the transposed matrices, joined along their rows."""
        parts: list[Quantised] = [self.weights.quantised[name] for name in names]
        packed = np.concatenate([part.paired() for part in parts])
        scales = np.concatenate([part.scales for part in parts]).astype(np.float32)
        rows, blocks = scales.shape
        inputs = [
            value,
            self.constant(f"{output}.nibbles", packed),
            self.constant(f"{output}.scales", scales.reshape(-1)),
        ]
        sizes = {"K": blocks * _BLOCK, "N": rows, "bits": 4, "block_size": _BLOCK}
        return self.node(
            "MatMulNBits", inputs, output, _FUSED, accuracy_level=_INT8_PRODUCTS, **sizes
        )

    def plain(self, name: str) -> NDArray[np.float32]:
        return self.weights.plain[name]

    def tensor(self, name: str) -> str:
        return self.constant(name, self.plain(name))

    def constant(self, name: str, values: NDArray[Any]) -> str:
        from onnx import numpy_helper

        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def node(
        self, kind: str, inputs: list[str], output: str, domain: str = "", **attributes: Any
    ) -> str:
        from onnx import helper

        self.nodes.append(helper.make_node(kind, inputs, [output], domain=domain, **attributes))
        return output
