"""Which cross-encoder can a test read from a file? One that counts the words that a pair shares.

Its graph is a real ONNX file with the three inputs of a cross-encoder: of each pair of tokens that
stand in the two texts of a pair (told by `token_type_ids`) and are equal, it counts one.
"""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")


def make_cross_encoder(
    folder: Path,
    *,
    texts: tuple[str, ...],
    outputs: int = 1,
    extra_input: str = "",
    value: float = 0.0,
) -> Path:
    """Write `model.onnx` and `tokenizer.json`, which knows the words of `texts`, into the folder and
    return it. A graph of several `outputs` repeats its score; `value` is added to each."""
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(_graph(outputs, extra_input, value), folder / "model.onnx")
    _tokenizer(texts).save(str(folder / "tokenizer.json"))
    return folder


def _graph(outputs: int, extra_input: str, value: float) -> onnx.ModelProto:
    constants = [
        numpy_helper.from_array(array, name)
        for name, array in {
            "one": _int64([1]),
            "two": _int64([2]),
            "first": _int64(1),
            "many": _int64([1, outputs]),
        }.items()
    ]
    constants.append(helper.make_tensor("value", TensorProto.FLOAT, [1], [value]))
    nodes: list[Any] = [
        # Which tokens stand in the second text, and which in the first.
        helper.make_node("Mul", ["token_type_ids", "attention_mask"], ["in_second"]),
        helper.make_node("Sub", ["first", "token_type_ids"], ["not_second"]),
        helper.make_node("Mul", ["not_second", "attention_mask"], ["in_first"]),
        helper.make_node("Unsqueeze", ["input_ids", "two"], ["down"]),
        helper.make_node("Unsqueeze", ["input_ids", "one"], ["across"]),
        helper.make_node("Equal", ["down", "across"], ["equal"]),
        helper.make_node("Cast", ["equal"], ["same"], to=TensorProto.INT64),
        helper.make_node("Unsqueeze", ["in_first", "two"], ["rows"]),
        helper.make_node("Unsqueeze", ["in_second", "one"], ["columns"]),
        helper.make_node("Mul", ["same", "rows"], ["of_first"]),
        helper.make_node("Mul", ["of_first", "columns"], ["shared"]),
        helper.make_node("Cast", ["shared"], ["numbers"], to=TensorProto.FLOAT),
        helper.make_node("ReduceSum", ["numbers", "one"], ["by_column"], keepdims=0),
        helper.make_node("ReduceSum", ["by_column", "one"], ["count"], keepdims=1),
        helper.make_node("Add", ["count", "value"], ["score"]),
        helper.make_node("Tile", ["score", "many"], ["logits"]),
    ]
    names = [
        "input_ids",
        "attention_mask",
        "token_type_ids",
        *([extra_input] if extra_input else []),
    ]
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
        for name in names
    ]
    out = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", outputs])
    graph = helper.make_graph(nodes, "shared words", inputs, [out], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def _int64(value: int | list[int]) -> NDArray[np.int64]:
    return np.array(value, np.int64)


def _tokenizer(texts: tuple[str, ...]) -> Tokenizer:
    normalizer = normalizers.Lowercase()
    splitter = pre_tokenizers.BertPreTokenizer()
    words = [
        word
        for text in texts
        for word, _ in splitter.pre_tokenize_str(normalizer.normalize_str(text))
    ]
    vocabulary = {word: at for at, word in enumerate(dict.fromkeys([*SPECIAL, *words]))}
    found = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    found.normalizer = normalizer
    found.pre_tokenizer = splitter
    found.add_special_tokens(list(SPECIAL))
    found.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(name, vocabulary[name]) for name in ("[CLS]", "[SEP]")],
    )
    # As such files come: padded and cut for training. The reader sets both by itself.
    found.enable_padding(length=16)
    found.enable_truncation(128)
    return found
