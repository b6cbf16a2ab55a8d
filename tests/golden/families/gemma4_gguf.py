"""Writes the GGUF file of the tiny Gemma 4 with gguf's own names and writer.

    python gemma4_gguf.py FOLDER

The metadata are those of Gemma4Model in llama.cpp's conversion/gemma.py, which also writes divisors
of the rotation of full layers.
"""

import json
import pathlib
import sys

import gguf
import numpy
from safetensors.numpy import load_file

folder = pathlib.Path(sys.argv[1])
config = json.loads((folder / "config.json").read_text())
layers, shared = config["num_hidden_layers"], config["num_kv_shared_layers"]
full_head = next(iter(config["per_layer_config"].values()))["head_dim"]
full, sliding = (config["rope_parameters"][f"{kind}_attention"] for kind in ("full", "sliding"))
width = config["intermediate_size"]

out = gguf.GGUFWriter(folder / "model.gguf", "gemma4")
out.add_context_length(config["max_position_embeddings"])
out.add_embedding_length(config["hidden_size"])
out.add_block_count(layers)
out.add_feed_forward_length([width * (1 + (layer >= layers - shared)) for layer in range(layers)])
out.add_head_count(config["num_attention_heads"])
out.add_head_count_kv(config["num_key_value_heads"])
out.add_layer_norm_rms_eps(config["rms_norm_eps"])
out.add_rope_freq_base(full["rope_theta"])
out.add_rope_freq_base_swa(sliding["rope_theta"])
out.add_sliding_window(config["sliding_window"])
out.add_sliding_window_pattern([kind == "sliding_attention" for kind in config["layer_types"]])
out.add_final_logit_softcapping(config["final_logit_softcapping"])
out.add_shared_kv_layers(shared)
out.add_embedding_length_per_layer_input(config["hidden_size_per_layer_input"])
out.add_key_length(full_head)
out.add_value_length(full_head)
out.add_key_length_swa(config["head_dim"])
out.add_value_length_swa(config["head_dim"])
out.add_rope_dimension_count(full_head)
out.add_rope_dimension_count_swa(config["head_dim"])
rotated = int(full_head * full["partial_rotary_factor"] / 2)
divisors = [1.0] * rotated + [1e30] * (full_head // 2 - rotated)
out.add_tensor("rope_freqs.weight", numpy.array(divisors, dtype=numpy.float32))
names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.GEMMA4, layers)
for name, values in load_file(folder / "model.safetensors").items():
    if name.endswith("layer_scalar"):
        name += ".weight"
    out.add_tensor(names.get_name(name, (".weight",)), values)
out.write_header_to_file()
out.write_kv_data_to_file()
out.write_tensors_to_file()
out.close()
