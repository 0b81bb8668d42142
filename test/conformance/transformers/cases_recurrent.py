"""Cases of families with recurrent layers. In: nothing. Out: small configurations of odd sizes, with transformers' keys."""
from cases import rope, sizes

DELTA = {"linear_num_value_heads": 6, "linear_num_key_heads": 3, "linear_key_head_dim": 12, "linear_value_head_dim": 20}
MAMBA = {"mamba_n_heads": 6, "mamba_d_head": 32, "mamba_d_state": 12, "mamba_n_groups": 2}
LINEAR, FULL = "linear_attention", "full_attention"

# (class, name, keys)
RECURRENT = [
    ("Zamba2", "two blocks", {
        "hidden_size": 80, "num_hidden_layers": 6, "vocab_size": 271, "num_attention_heads": 5, "num_key_value_heads": 5,
        "intermediate_size": 70, "n_mamba_heads": 4, "mamba_d_state": 16, "adapter_rank": 5, "num_mem_blocks": 2,
        "layers_block_type": ["linear_attention", "hybrid"] * 3, "max_position_embeddings": 128}),
    ("Zamba2", "one block, adapters of attention, rotation", {
        "hidden_size": 64, "num_hidden_layers": 4, "vocab_size": 277, "num_attention_heads": 4, "num_key_value_heads": 4,
        "intermediate_size": 90, "n_mamba_heads": 4, "mamba_d_state": 8, "mamba_ngroups": 2, "adapter_rank": 4,
        "num_mem_blocks": 1, "use_shared_attention_adapter": True, "use_mem_rope": True, "max_position_embeddings": 128,
        "layers_block_type": ["hybrid", "linear_attention", "hybrid", "linear_attention"], "rms_norm_eps": 0.001}),
    ("Qwen3_5Text", "heads that share keys", sizes(
        72, 4, 2, 24, 100, 271, layers=3, layer_types=[LINEAR, FULL, LINEAR], **DELTA, **rope(10000.0, partial_rotary_factor=0.5))),
    ("Qwen3_5Text", "a key for each head, tied", sizes(
        60, 3, 1, 40, 90, 269, layers=4, tie_word_embeddings=True, **{**DELTA, "linear_num_key_heads": 6},
        **rope(1e6, partial_rotary_factor=0.25))),
    ("Qwen3Next", "experts", sizes(
        64, 4, 2, 24, 100, 271, layers=2, layer_types=[LINEAR, FULL], num_experts=4, num_experts_per_tok=2,
        moe_intermediate_size=40, shared_expert_intermediate_size=36, **DELTA, **rope(10000.0, partial_rotary_factor=0.5))),
    ("Qwen3Next", "one dense layer, weights as they are", sizes(
        60, 3, 1, 20, 90, 269, layers=3, layer_types=[LINEAR, LINEAR, FULL], num_experts=5, num_experts_per_tok=3,
        moe_intermediate_size=32, shared_expert_intermediate_size=48, norm_topk_prob=False, mlp_only_layers=[1],
        **{**DELTA, "linear_num_key_heads": 2}, **rope(10000.0, partial_rotary_factor=0.4))),
    ("OlmoHybrid", "values that may turn", sizes(
        64, 4, 2, 16, 90, 271, layers=4, **{**DELTA, "linear_num_key_heads": 6, "linear_value_head_dim": 12}, **rope(5e5))),
    ("OlmoHybrid", "no rotation", sizes(
        60, 3, 3, 20, 80, 269, layers=3, layer_types=[LINEAR, FULL, LINEAR], linear_allow_neg_eigval=False, rope_parameters=None,
        **{**DELTA, "linear_num_key_heads": 6, "linear_value_head_dim": 12})),
    ("FalconH1", "all factors", sizes(
        72, 4, 2, 20, 100, 271, mamba_d_ssm=96, mamba_n_heads=6, mamba_d_head=16, mamba_d_state=8, mamba_n_groups=3,
        embedding_multiplier=5.6, lm_head_multiplier=0.3, key_multiplier=0.3, attention_in_multiplier=0.9,
        attention_out_multiplier=0.7, ssm_in_multiplier=1.2, ssm_out_multiplier=0.5,
        ssm_multipliers=[0.4, 0.3, 0.5, 0.6, 0.35], mlp_multipliers=[0.8, 0.2], **rope(1e11))),
    ("FalconH1", "a norm after the gate, tied", sizes(
        60, 3, 1, 24, 90, 269, layers=3, mamba_d_ssm=128, mamba_n_heads=4, mamba_d_head=32, mamba_d_state=16, mamba_n_groups=1,
        mamba_rms_norm=True, mamba_norm_before_gate=False, tie_word_embeddings=True, mamba_conv_bias=False, **rope(10000.0))),
    ("Bamba", "groups", sizes(96, 4, 2, 24, 90, 271, layers=3, attn_layer_indices=[1], **MAMBA, **rope(10000.0))),
    ("Bamba", "heads of one channel", sizes(
        64, 4, 2, 16, 90, 269, layers=2, attn_layer_indices=None, mamba_n_heads=128, mamba_d_head=1, mamba_d_state=8,
        mamba_n_groups=1, **rope(10000.0))),
    ("FalconMamba", "odd state", {
        "vocab_size": 271, "hidden_size": 48, "num_hidden_layers": 3, "state_size": 5, "time_step_rank": 7}),
    ("FalconMamba", "three taps without a bias, untied", {
        "vocab_size": 269, "hidden_size": 64, "num_hidden_layers": 2, "expand": 1, "conv_kernel": 3, "use_conv_bias": False,
        "mixer_rms_eps": 1e-3, "tie_word_embeddings": False}),
    ("Jamba", "one expert", sizes(
        64, 4, 2, 16, 90, 271, layers=4, num_experts=1, attn_layer_period=3, attn_layer_offset=1, mamba_d_state=7, mamba_dt_rank=5)),
    ("Jamba", "experts", sizes(
        48, 3, 1, 16, 64, 277, layers=4, num_experts=4, num_experts_per_tok=2, attn_layer_period=4, attn_layer_offset=2,
        mamba_d_state=8, mamba_dt_rank=3)),
    ("Jamba", "tied", sizes(
        48, 3, 1, 16, 80, 269, layers=3, num_experts=1, attn_layer_period=2, attn_layer_offset=0, mamba_d_state=16, mamba_d_conv=2,
        mamba_expand=4, tie_word_embeddings=True)),
    ("NemotronH", "all kinds", {
        **sizes(72, 4, 2, 20, 100, 271), "layers_block_type": [LINEAR, "mlp", FULL, "mlp", LINEAR], "mamba_num_heads": 8,
        "mamba_head_dim": 16, "n_groups": 2, "ssm_state_size": 12, "time_step_min": 0.01}),
    ("NemotronH", "experts", {
        **sizes(48, 3, 1, 16, 64, 277), "layers_block_type": [LINEAR, "moe", FULL, "mlp"], "mamba_num_heads": 4,
        "mamba_head_dim": 16, "n_groups": 2, "ssm_state_size": 8, "n_routed_experts": 6, "num_experts_per_tok": 2,
        "moe_intermediate_size": 40, "moe_shared_expert_intermediate_size": 36, "routed_scaling_factor": 1.5, "n_group": 2,
        "topk_group": 1}),
    ("NemotronH", "one group", {
        **sizes(60, 3, 1, 24, 90, 269), "layers_block_type": [FULL, LINEAR, "mlp"], "mamba_num_heads": 4,
        "mamba_head_dim": 24, "n_groups": 1, "ssm_state_size": 16}),
    ("RecurrentGemma", "as wide as the model", {
        **sizes(64, 4, 1, 16, 96, 271, layers=4), "attention_window_size": 9, "rope_parameters": {
            "rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5}}),
    ("RecurrentGemma", "wider, in another order", {
        **sizes(60, 3, 3, 20, 80, 269, layers=3), "lru_width": 96, "block_types": ["attention", "recurrent"],
        "attention_window_size": 128, "logits_soft_cap": 5.0, "conv1d_width": 3}),
    ("Rwkv", "as wide as the model", {
        "vocab_size": 271, "hidden_size": 64, "num_hidden_layers": 3, "context_length": 128}),
    ("Rwkv", "wider", {
        "vocab_size": 269, "hidden_size": 72, "num_hidden_layers": 2, "attention_hidden_size": 96, "intermediate_size": 100,
        "rescale_every": 1}),
]
