"""Converts the tiny models with llama.cpp's own converter, without their tokenizers.

    PYTHONPATH=llama.cpp:llama.cpp/gguf-py python record_gguf.py FOLDER family …
"""

import pathlib
import sys

import gguf
from conversion import get_model_class
from conversion.base import ModelBase

for family in sys.argv[2:]:
    folder = pathlib.Path(sys.argv[1], family)
    hparams = ModelBase.load_hparams(folder, False)
    kind = get_model_class(hparams["architectures"][0])
    # The class of Ministral 3 stands in another one.
    kind = getattr(kind, "Ministral3Model", kind)
    if "layer_types" in hparams and family == "granitemoehybrid":
        # As published files call them.
        hparams["layer_types"] = ["attention"] * len(hparams["layer_types"])

    class Model(kind):
        model_arch = kind.model_arch
        no_mtp = True

        def set_vocab(self):
            pass

        def modify_tensors(self, data, name, bid):
            # Gemma's looks for the tokenizer's size at the embedding.
            if name == "model.embed_tokens.weight":
                return [("token_embd.weight", data)]
            return super().modify_tensors(data, name, bid)

    target = folder / "model.gguf"
    Model(folder, gguf.LlamaFileType.ALL_F32, target, hparams=hparams).write()
    print(family, flush=True)
