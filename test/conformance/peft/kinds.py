"""Kinds of adapters. In: nothing. Out: small models, and for each kind the keys of peft's LoraConfig. `refusal`: text in the
error for kinds whose result is not computed."""
LLAMA = {
    "hidden_size": 48, "num_attention_heads": 3, "num_key_value_heads": 1, "head_dim": 16, "intermediate_size": 80,
    "vocab_size": 271, "num_hidden_layers": 2, "max_position_embeddings": 64,
    "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
}

MODELS = {
    "llama": ("Llama", {**LLAMA, "tie_word_embeddings": False}),
    "llama-tied": ("Llama", {**LLAMA, "tie_word_embeddings": True}),
    "qwen2": ("Qwen2", {**{key: value for key, value in LLAMA.items() if key != "head_dim"}, "tie_word_embeddings": False}),
    "gemma3": ("Gemma3Text", {**LLAMA, "sliding_window": 16, "query_pre_attn_scalar": 16}),
    "phi3": ("Phi3", {**{key: value for key, value in LLAMA.items() if key != "head_dim"}, "tie_word_embeddings": False}),
    "gpt2": ("GPT2", {"n_embd": 48, "n_head": 3, "n_layer": 2, "vocab_size": 271, "n_positions": 64}),
}

QV = ["q_proj", "v_proj"]
ALL = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
PLAIN = {"r": 4, "lora_alpha": 6, "init_lora_weights": False}
DORA = {**PLAIN, "use_dora": True}

KINDS = [
    ("plain", "llama", {**PLAIN, "target_modules": QV}),
    ("every linear layer", "llama", {**PLAIN, "target_modules": "all-linear"}),
    ("targets by a pattern", "llama", {**PLAIN, "target_modules": r".*layers\.1\..*(q|down)_proj"}),
    ("targets without some", "llama", {**PLAIN, "target_modules": ALL, "exclude_modules": ["k_proj", "up_proj"]}),
    ("only the second layer", "llama", {**PLAIN, "target_modules": ALL, "layers_to_transform": [1]}),
    ("ranks by name", "llama", {**PLAIN, "target_modules": ALL, "rank_pattern": {"q_proj": 2, "mlp.down_proj": 7}}),
    ("alphas by name", "llama", {**PLAIN, "target_modules": ALL, "alpha_pattern": {"v_proj": 11, "o_proj": 3}}),
    ("ranks and alphas by patterns", "qwen2", {
        **PLAIN, "target_modules": ALL,
        "rank_pattern": {r"layers\.0\..*[qv]_proj": 3, "^model.layers.1.mlp.up_proj": 5, "k_proj|o_proj": 6},
        "alpha_pattern": {r"layers\.[0-1]\.self_attn\.[qk]_proj": 9, "^model.layers.1.mlp.(up|gate)_proj": 2, ".*": 5},
    }),
    ("the first pattern that matches", "llama", {
        **PLAIN, "target_modules": QV, "rank_pattern": {"layers.1.self_attn.q_proj": 2, "q_proj": 3},
        "alpha_pattern": {"q_proj": 3, "layers.1.self_attn.q_proj": 20}}),
    ("a pattern that is the end of another name", "llama", {
        **PLAIN, "target_modules": ["up_proj", "q_proj"], "alpha_pattern": {"proj": 30, "p_proj": 31, "mlp.up_proj": 9}}),
    ("rank-stabilised", "qwen2", {**PLAIN, "target_modules": ALL, "use_rslora": True}),
    ("rank-stabilised with patterns", "llama", {
        **PLAIN, "target_modules": ALL, "use_rslora": True, "rank_pattern": {"q_proj": 2}, "alpha_pattern": {"down_proj": 3}}),
    ("DoRA", "llama", {**DORA, "target_modules": ALL}),
    ("DoRA with biases of the model", "qwen2", {**DORA, "target_modules": ALL}),
    ("DoRA, rank-stabilised, with patterns", "gemma3", {
        **DORA, "target_modules": ALL, "use_rslora": True, "rank_pattern": {"v_proj": 2}, "alpha_pattern": {"up_proj": 3}}),
    ("DoRA of merged matrices", "phi3", {**DORA, "target_modules": ["qkv_proj", "gate_up_proj", "o_proj"]}),
    ("DoRA of turned matrices", "gpt2", {**DORA, "target_modules": ["c_attn", "c_fc", "c_proj"], "fan_in_fan_out": True}),
    ("turned matrices", "gpt2", {**PLAIN, "target_modules": ["c_attn", "c_proj"], "fan_in_fan_out": True}),
    ("the logits' matrix", "llama", {**PLAIN, "target_modules": ["lm_head", "q_proj"]}),
    ("the logits' matrix of a tied table", "llama-tied", {**PLAIN, "target_modules": ["lm_head"]}),
    ("a table", "llama", {**PLAIN, "target_modules": ["embed_tokens", "q_proj"]}),
    ("a tied table", "gemma3", {**PLAIN, "target_modules": ["embed_tokens", "q_proj"]}),
    ("a tied table and its logits' matrix", "llama-tied", {**PLAIN, "target_modules": ["embed_tokens", "lm_head"]}),
    ("a tied table that stays tied", "llama-tied", {
        **PLAIN, "target_modules": ["embed_tokens", "q_proj"], "ensure_weight_tying": True}),
    ("DoRA of a table", "llama", {**DORA, "target_modules": ["embed_tokens", "q_proj"]}),
    ("DoRA of a tied table", "gemma3", {**DORA, "target_modules": ["embed_tokens", "v_proj"]}),
    ("tables of GPT-2", "gpt2", {**PLAIN, "target_modules": ["wte", "wpe", "c_attn"], "fan_in_fan_out": True}),
    ("whole modules", "llama", {**PLAIN, "target_modules": QV, "modules_to_save": ["lm_head", "embed_tokens", "norm"]}),
    ("norms of Gemma", "gemma3", {**PLAIN, "target_modules": QV, "modules_to_save": ["input_layernorm", "q_norm"]}),
    ("the logits' matrix of a tied table, whole", "llama-tied", {
        **PLAIN, "target_modules": QV, "modules_to_save": ["lm_head"]}),
    ("a tied table, whole", "llama-tied", {**PLAIN, "target_modules": QV, "modules_to_save": ["embed_tokens"]}),
    ("a tied table, whole, that stays tied", "llama-tied", {
        **PLAIN, "target_modules": QV, "modules_to_save": ["embed_tokens"], "ensure_weight_tying": True}),
    ("all biases", "qwen2", {**PLAIN, "target_modules": QV, "bias": "all"}),
    ("biases of the adapted matrices", "gpt2", {
        **PLAIN, "target_modules": ["c_attn", "c_fc"], "fan_in_fan_out": True, "bias": "lora_only"}),
    ("biases of B", "qwen2", {**PLAIN, "target_modules": QV, "lora_bias": True}),
    ("initialised from samples", "llama", {**PLAIN, "target_modules": QV, "init_lora_weights": "gaussian"}),
    ("orthogonal", "llama", {**PLAIN, "target_modules": QV, "init_lora_weights": "orthogonal"}),
    ("MiCA", "llama", {**PLAIN, "target_modules": QV, "init_lora_weights": "mica"}),
    ("PiSSA, converted", "llama", {**PLAIN, "target_modules": QV, "init_lora_weights": "pissa"}, {"convert": True}),
    ("OLoRA, converted", "llama", {**PLAIN, "target_modules": QV, "init_lora_weights": "olora"}, {"convert": True}),
    ("PiSSA", "llama", {**PLAIN, "target_modules": QV, "init_lora_weights": "pissa"}, {"refusal": "init_lora_weights"}),
    ("OLoRA", "llama", {**PLAIN, "target_modules": QV, "init_lora_weights": "olora"}, {"refusal": "init_lora_weights"}),
    ("single tokens", "llama", {**PLAIN, "target_modules": QV, "trainable_token_indices": [3, 5]}, {
        "refusal": "trainable_token_indices"}),
    ("layers that are repeated", "llama", {**PLAIN, "target_modules": QV, "layer_replication": [[0, 2], [1, 2]]}, {
        "refusal": "layer_replication"}),
    ("activated", "llama", {**PLAIN, "target_modules": QV, "alora_invocation_tokens": [3, 4]}, {
        "refusal": "alora_invocation_tokens"}),
    ("biases of B where the model has none", "llama", {**PLAIN, "target_modules": QV, "lora_bias": True}, {
        "refusal": "bias"}),
]
