"""Cases. In: nothing. Out: small configurations with transformers' keys: odd sizes, every RoPE scaling, windows, caps,
experts."""

LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}


def sizes(hidden, heads, kv, head, wide, vocab, layers=2, **more):
    return {
        "hidden_size": hidden, "num_attention_heads": heads, "num_key_value_heads": kv, "head_dim": head,
        "intermediate_size": wide, "vocab_size": vocab, "num_hidden_layers": layers,
        "max_position_embeddings": 128, **more,
    }


def without_head_dim(hidden, heads, kv, wide, vocab, layers=2, **more):
    made = sizes(hidden, heads, kv, 0, wide, vocab, layers, **more)
    del made["head_dim"]
    return made


def rope(theta, **more):
    return {"rope_parameters": {"rope_type": "default", "rope_theta": theta, **more}}


def factors(count, first, step):
    return [first + step * i for i in range(count)]


def longrope(pairs, **more):
    return {
        "rope_parameters": {
            "rope_type": "longrope", "rope_theta": 10000.0,
            "short_factor": factors(pairs, 1.0, 0.125), "long_factor": factors(pairs, 1.5, 0.25), **more,
        }
    }


YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32}

LOCAL_FULL = ["sliding_attention", "full_attention"]

# (class, name, keys)
CASES = [
    ("Llama", "one KV head of 40", sizes(75, 3, 1, 40, 101, 271, **rope(10000.0))),
    ("Llama", "heads of 256, tied", sizes(66, 2, 2, 256, 77, 277, tie_word_embeddings=True, **rope(500000.0))),
    ("Llama", "llama3 scaling, heads of 44", sizes(90, 6, 2, 44, 130, 283, **rope(
        500000.0, **LLAMA3, original_max_position_embeddings=16))),
    ("Llama", "linear scaling", sizes(60, 4, 4, 48, 99, 269, layers=3, **rope(10000.0, rope_type="linear", factor=2.5))),
    ("Llama", "yarn scaling", sizes(64, 4, 2, 64, 96, 271, **rope(10000.0, **YARN))),
    ("Llama", "yarn with mscale", sizes(64, 4, 2, 64, 96, 271, **rope(
        10000.0, **YARN, mscale=0.707, mscale_all_dim=0.5))),
    ("Llama", "gelu, exact", sizes(60, 3, 1, 52, 90, 281, hidden_act="gelu", rms_norm_eps=0.01, **rope(10000.0))),
    ("Llama", "plain", without_head_dim(132, 3, 3, 65, 307, layers=1)),
    ("Mistral", "no window", sizes(60, 4, 2, 80, 93, 271, sliding_window=None, **rope(1000000.0))),
    ("Mistral", "window in every layer", sizes(84, 7, 1, 56, 70, 293, layers=3, sliding_window=9, **rope(10000.0))),
    ("Mistral", "yarn and window", sizes(64, 2, 1, 128, 90, 271, sliding_window=17, **rope(
        10000.0, **YARN, attention_factor=1.25, beta_fast=16.0, beta_slow=2.0))),
    ("SmolLM3", "every fourth layer unturned", sizes(60, 4, 2, 44, 81, 275, layers=5, **rope(2000000.0))),
    ("SmolLM3", "listed layers, window", without_head_dim(
        88, 2, 1, 90, 281, layers=3, no_rope_layers=[1, 0, 1], use_sliding_window=True, sliding_window=11)),
    ("SmolLM3", "every second layer, untied", sizes(
        66, 3, 3, 60, 75, 269, layers=4, no_rope_layer_interval=2, tie_word_embeddings=False, **rope(
            2000000.0, rope_type="linear", factor=3.0))),
    ("Granite", "all factors", sizes(
        60, 5, 1, 72, 91, 271, embedding_multiplier=6.5, residual_multiplier=0.37, attention_multiplier=0.11,
        logits_scaling=3.25, **rope(10000.0))),
    ("Granite", "no factors", without_head_dim(80, 2, 2, 77, 269)),
    ("Granite", "llama3, tied", sizes(
        63, 3, 1, 100, 85, 273, tie_word_embeddings=True, residual_multiplier=0.5, attention_multiplier=0.05,
        **rope(50000.0, **LLAMA3, original_max_position_embeddings=8))),
    ("Granite", "gelu by tanh", sizes(
        63, 3, 1, 60, 85, 273, hidden_act="gelu_pytorch_tanh", attention_multiplier=0.1, logits_scaling=8.0)),
    ("Qwen2", "one KV head", without_head_dim(168, 3, 1, 71, 271, **rope(1000000.0))),
    ("Qwen2", "tied", without_head_dim(96, 2, 2, 99, 301, tie_word_embeddings=True, layers=3)),
    ("Qwen2", "window from the second layer", without_head_dim(
        120, 2, 1, 64, 277, layers=4, use_sliding_window=True, sliding_window=10, max_window_layers=2)),
    ("Qwen2", "yarn", without_head_dim(128, 2, 1, 70, 269, **rope(1000000.0, **YARN))),
    ("Qwen3", "heads of 128", sizes(63, 3, 1, 128, 77, 271, **rope(1000000.0))),
    ("Qwen3", "heads of 36, tied", sizes(60, 5, 5, 36, 88, 279, tie_word_embeddings=True, layers=3)),
    ("Qwen3", "listed windows", sizes(
        62, 2, 1, 68, 85, 269, layers=3, use_sliding_window=True, sliding_window=12,
        layer_types=["sliding_attention", "full_attention", "sliding_attention"])),
    ("Qwen3", "yarn without truncated factor", sizes(64, 2, 2, 96, 77, 273, **rope(
        1000000.0, **{**YARN, "factor": 2.0, "original_max_position_embeddings": 64}))),
    ("Qwen3Moe", "weights by their sum", sizes(
        60, 4, 1, 48, 33, 271, num_experts=7, num_experts_per_tok=3, moe_intermediate_size=37, norm_topk_prob=True)),
    ("Qwen3Moe", "weights as they are", sizes(
        66, 2, 2, 76, 30, 277, num_experts=5, num_experts_per_tok=2, moe_intermediate_size=45, norm_topk_prob=False)),
    ("Qwen3Moe", "one expert, tied", sizes(
        60, 3, 1, 60, 30, 269, num_experts=4, num_experts_per_tok=1, moe_intermediate_size=64,
        tie_word_embeddings=True, layers=3)),
    ("Qwen3Moe", "window in all layers", sizes(
        60, 3, 1, 60, 30, 269, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=64, use_sliding_window=True,
        sliding_window=8)),
    ("Olmo2", "one KV head", without_head_dim(132, 3, 1, 75, 271)),
    ("Olmo2", "as many KV heads", without_head_dim(120, 2, 2, 101, 283, layers=3, **rope(500000.0))),
    ("Olmo2", "linear scaling", without_head_dim(104, 2, 1, 64, 269, **rope(
        500000.0, rope_type="linear", factor=4.0))),
    ("Olmo3", "windows, yarn", without_head_dim(
        88, 2, 2, 77, 271, layers=5, sliding_window=10, rope_parameters={
            "full_attention": {"rope_theta": 500000.0, **YARN, "attention_factor": 1.2079441541679836},
            "sliding_attention": {"rope_theta": 500000.0, "rope_type": "default"}})),
    ("Olmo3", "windows turned otherwise", without_head_dim(
        120, 3, 1, 70, 277, layers=4, sliding_window=7,
        layer_types=["full_attention", "sliding_attention", "full_attention", "sliding_attention"], rope_parameters={
            "full_attention": {"rope_theta": 500000.0, "rope_type": "default"},
            "sliding_attention": {"rope_theta": 10000.0, "rope_type": "linear", "factor": 2.0}})),
    ("Olmo3", "defaults", without_head_dim(88, 2, 1, 65, 269, layers=4, sliding_window=33)),
    ("Olmoe", "eight experts", without_head_dim(
        120, 3, 3, 35, 271, num_experts=8, num_experts_per_tok=3, norm_topk_prob=False)),
    ("Olmoe", "weights by their sum", without_head_dim(
        132, 3, 1, 42, 281, num_experts=6, num_experts_per_tok=2, norm_topk_prob=True, rms_norm_eps=0.001)),
    ("Olmoe", "all experts", without_head_dim(
        88, 2, 2, 33, 269, layers=3, num_experts=3, num_experts_per_tok=3, **rope(50000.0))),
    ("Gemma2", "caps and windows", sizes(
        60, 4, 2, 40, 81, 271, layers=4, sliding_window=9, query_pre_attn_scalar=37, attn_logit_softcapping=2.0,
        final_logit_softcapping=3.0)),
    ("Gemma2", "no caps", sizes(
        66, 2, 1, 256, 70, 283, layers=2, attn_logit_softcapping=None, final_logit_softcapping=None)),
    ("Gemma2", "gelu, exact", sizes(
        62, 2, 2, 84, 77, 269, layers=3, hidden_activation="gelu", sliding_window=16, query_pre_attn_scalar=84)),
    ("Gemma2", "linear scaling, listed layers", sizes(
        60, 3, 1, 64, 66, 277, layers=3, sliding_window=12, query_pre_attn_scalar=64,
        layer_types=["full_attention", "sliding_attention", "full_attention"], **rope(
            20000.0, rope_type="linear", factor=2.0))),
    ("Gemma3Text", "windows, every sixth layer whole", sizes(
        60, 4, 1, 40, 70, 271, layers=7, sliding_window=9, query_pre_attn_scalar=40)),
    ("Gemma3Text", "linear scaling", sizes(
        66, 2, 2, 128, 65, 277, layers=4, sliding_window=12,
        layer_types=["sliding_attention", "full_attention"] * 2, rope_parameters={
            "full_attention": {"rope_type": "linear", "rope_theta": 1000000.0, "factor": 8.0},
            "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}})),
    ("Gemma3Text", "one layer whole, a cap", sizes(
        62, 2, 1, 256, 66, 269, layers=2, sliding_window=20, final_logit_softcapping=4.0,
        layer_types=["full_attention", "sliding_attention"])),
    ("Gemma3Text", "both scaled", sizes(
        60, 3, 3, 76, 66, 273, layers=2, sliding_window=14, query_pre_attn_scalar=76, attn_logit_softcapping=3.0,
        layer_types=["full_attention", "sliding_attention"], rope_parameters={
            "full_attention": {"rope_type": "default", "rope_theta": 300000.0},
            "sliding_attention": {"rope_type": "linear", "rope_theta": 20000.0, "factor": 2.0}})),
    ("Phi3", "plain", without_head_dim(120, 3, 1, 65, 271)),
    ("Phi3", "window, heads of 96", without_head_dim(192, 2, 1, 70, 277, sliding_window=13)),
    ("Phi3", "a part turned", without_head_dim(144, 2, 2, 77, 269, **rope(10000.0, partial_rotary_factor=0.5))),
    ("Phi3", "longrope, short", without_head_dim(
        96, 2, 1, 70, 271, original_max_position_embeddings=64, **longrope(24)), 64),
    ("Phi3", "longrope, long", without_head_dim(
        96, 2, 1, 70, 271, original_max_position_embeddings=32, **longrope(24)), 128),
    ("Phi3", "longrope of a part", without_head_dim(
        112, 2, 1, 66, 275, original_max_position_embeddings=32, **longrope(
            21, partial_rotary_factor=0.75, factor=2.0)), 128),
    ("Lfm2", "attention in some layers", without_head_dim(
        96, 2, 1, 96, 271, layers=4, block_multiple_of=32,
        layer_types=["conv", "full_attention", "conv", "full_attention"])),
    ("Lfm2", "sizes as they are, untied", without_head_dim(
        128, 2, 2, 77, 277, layers=3, block_auto_adjust_ff_dim=False, conv_L_cache=4, tie_word_embeddings=False,
        layer_types=["conv", "conv", "full_attention"], **rope(50000.0))),
    ("Lfm2", "attention alone", without_head_dim(
        96, 2, 1, 150, 269, layers=2, block_multiple_of=8, block_ffn_dim_multiplier=1.25)),
    ("Mamba", "plain", {
        "hidden_size": 48, "state_size": 16, "num_hidden_layers": 2, "vocab_size": 271}),
    ("Mamba", "other sizes, untied", {
        "hidden_size": 64, "state_size": 5, "num_hidden_layers": 3, "vocab_size": 277, "expand": 3, "conv_kernel": 3,
        "time_step_rank": 7, "use_conv_bias": False, "tie_word_embeddings": False, "layer_norm_epsilon": 0.001}),
    ("Mamba", "wide", {
        "hidden_size": 80, "state_size": 24, "num_hidden_layers": 2, "vocab_size": 269, "conv_kernel": 2}),
    ("Mamba2", "one group", {
        "hidden_size": 48, "state_size": 32, "num_hidden_layers": 2, "vocab_size": 271, "num_heads": 4, "head_dim": 24,
        "n_groups": 1}),
    ("Mamba2", "limited steps, tied", {
        "hidden_size": 64, "state_size": 16, "num_hidden_layers": 3, "vocab_size": 277, "num_heads": 8, "head_dim": 16,
        "n_groups": 1, "time_step_limit": [0.05, 0.3], "tie_word_embeddings": True, "chunk_size": 16}),
    ("Mamba2", "a state of 24", {
        "hidden_size": 64, "state_size": 24, "num_hidden_layers": 2, "vocab_size": 269, "num_heads": 4, "head_dim": 32,
        "n_groups": 1, "use_conv_bias": False, "conv_kernel": 3}),
    ("GraniteMoeHybrid", "one layer of attention", without_head_dim(
        88, 2, 1, 70, 271, layers=3, num_local_experts=0, shared_intermediate_size=61, mamba_n_heads=4,
        mamba_d_state=32, mamba_expand=4, embedding_multiplier=5.0, residual_multiplier=0.4, attention_multiplier=0.1,
        logits_scaling=2.5, layer_types=["linear_attention", "full_attention", "linear_attention"])),
    ("GraniteMoeHybrid", "turned, tied", without_head_dim(
        96, 2, 2, 70, 277, layers=4, num_local_experts=0, shared_intermediate_size=77, mamba_n_heads=6,
        mamba_d_state=16, position_embedding_type="rope", tie_word_embeddings=True, time_step_limit=[0.01, 0.5],
        layer_types=["full_attention", "linear_attention", "linear_attention", "full_attention"])),
    ("GraniteMoeHybrid", "recurrent layers alone, plain factors", without_head_dim(
        96, 2, 1, 70, 269, num_local_experts=0, shared_intermediate_size=64, mamba_n_heads=4, mamba_d_state=48,
        mamba_conv_bias=False)),
    ("GPT2", "plain", {"n_embd": 132, "n_head": 3, "n_layer": 2, "n_positions": 96, "vocab_size": 271}),
    ("GPT2", "scores by the layer", {
        "n_embd": 120, "n_head": 2, "n_layer": 4, "n_positions": 64, "vocab_size": 277, "n_inner": 101,
        "scale_attn_by_inverse_layer_idx": True}),
    ("GPT2", "scores as they are, exact gelu", {
        "n_embd": 88, "n_head": 2, "n_layer": 2, "n_positions": 64, "vocab_size": 269, "scale_attn_weights": False,
        "activation_function": "gelu", "tie_word_embeddings": False}),
    ("GPTNeoX", "exact gelu, parallel", {
        "hidden_size": 120, "num_attention_heads": 3, "num_hidden_layers": 2, "intermediate_size": 101,
        "vocab_size": 271, "max_position_embeddings": 128}),
    ("GPTNeoX", "gelu by tanh, in turn", {
        "hidden_size": 96, "num_attention_heads": 2, "num_hidden_layers": 3, "intermediate_size": 130,
        "vocab_size": 277, "max_position_embeddings": 64, "hidden_act": "gelu_fast", "use_parallel_residual": False,
        **rope(10000.0, partial_rotary_factor=0.5)}),
    ("GPTNeoX", "whole heads turned, tied", {
        "hidden_size": 128, "num_attention_heads": 2, "num_hidden_layers": 2, "intermediate_size": 65,
        "vocab_size": 269, "max_position_embeddings": 64, "tie_word_embeddings": True, "layer_norm_eps": 0.01,
        **rope(25000.0, partial_rotary_factor=1.0, rope_type="linear", factor=2.0)}),
    ("OPT", "biases everywhere", {
        "hidden_size": 60, "num_attention_heads": 3, "num_hidden_layers": 2, "ffn_dim": 90, "vocab_size": 271,
        "word_embed_proj_dim": 60, "max_position_embeddings": 48}),
    ("OPT", "no biases, untied, gelu", {
        "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 3, "ffn_dim": 101, "vocab_size": 277,
        "word_embed_proj_dim": 64, "max_position_embeddings": 128, "enable_bias": False,
        "activation_function": "gelu", "tie_word_embeddings": False}),
    ("GPTNeo", "window in every second layer", {
        "hidden_size": 60, "num_heads": 3, "num_layers": 4, "attention_types": [[["global", "local"], 2]],
        "window_size": 9, "vocab_size": 271, "max_position_embeddings": 64}),
    ("GPTNeo", "two kinds of turns", {
        "hidden_size": 64, "num_heads": 4, "num_layers": 3, "attention_types": [[["local"], 1], [["global", "local"], 1]],
        "window_size": 17, "intermediate_size": 90, "vocab_size": 277, "max_position_embeddings": 64,
        "activation_function": "relu", "tie_word_embeddings": False}),
    ("GPTJ", "half of each head", {
        "n_embd": 60, "n_head": 3, "n_layer": 2, "rotary_dim": 10, "n_positions": 64, "vocab_size": 271}),
    ("GPTJ", "inner size", {
        "n_embd": 96, "n_head": 4, "n_layer": 3, "rotary_dim": 24, "n_positions": 64, "vocab_size": 277,
        "n_inner": 90, "activation_function": "gelu"}),
    ("CodeGen", "a head for each part", {
        "n_embd": 80, "n_head": 4, "n_layer": 2, "rotary_dim": 12, "n_positions": 64, "vocab_size": 271}),
    ("CodeGen", "two heads for each part", {
        "n_embd": 96, "n_head": 8, "n_layer": 3, "rotary_dim": 12, "n_positions": 64, "vocab_size": 277, "n_inner": 101}),
    ("Bloom", "three heads", {"hidden_size": 60, "n_head": 3, "n_layer": 2, "vocab_size": 271}),
    ("Bloom", "eight heads, untied", {
        "hidden_size": 64, "n_head": 8, "n_layer": 3, "vocab_size": 277, "tie_word_embeddings": False}),
    ("Mpt", "six heads", {
        "d_model": 72, "n_heads": 6, "n_layers": 2, "max_seq_len": 64, "vocab_size": 271}),
    ("Mpt", "limits and scale", {
        "d_model": 64, "n_heads": 4, "n_layers": 3, "max_seq_len": 128, "vocab_size": 277,
        "attn_config": {"clip_qkv": 0.8, "softmax_scale": 0.3}}),
    ("Falcon", "one KV head", {
        "hidden_size": 60, "num_attention_heads": 3, "num_hidden_layers": 2, "vocab_size": 271}),
    ("Falcon", "new decoder, two norms", {
        "hidden_size": 96, "num_attention_heads": 6, "num_hidden_layers": 3, "vocab_size": 277,
        "new_decoder_architecture": True, "num_kv_heads": 2, "ffn_hidden_size": 101}),
    ("Falcon", "new decoder, one norm, biases", {
        "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "vocab_size": 283,
        "new_decoder_architecture": True, "num_kv_heads": 4, "num_ln_in_parallel_attn": 1, "bias": True}),
    ("Falcon", "one block after the other", {
        "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "vocab_size": 277,
        "multi_query": False, "parallel_attn": False, "bias": True, "tie_word_embeddings": False}),
    ("BitNet", "two KV heads", without_head_dim(64, 4, 2, 96, 271)),
    ("BitNet", "biases, tied, silu", without_head_dim(
        60, 3, 1, 101, 277, layers=3, attention_bias=True, tie_word_embeddings=True, hidden_act="silu")),
    ("BitNet", "ternary weights", without_head_dim(512, 4, 2, 512, 271)),
]

DYNAMIC = {"rope_type": "dynamic", "factor": 4.0}
TIED, UNTIED = {"tie_word_embeddings": True}, {"tie_word_embeddings": False}

CASES += [
    ("GraniteSWA", "windows, sinks", without_head_dim(
        96, 3, 1, 77, 271, layers=5, sliding_window=9, embedding_multiplier=6.5, residual_multiplier=0.37,
        attention_multiplier=0.11, logits_scaling=0.4)),
    ("GraniteSWA", "other bases, layers that do not turn", without_head_dim(
        88, 2, 2, 70, 269, layers=4, sliding_window=14, attention_multiplier=0.2, attention_bias=True,
        layer_types=["full_attention", "sliding_attention"] * 2, layer_rope_theta=[50000.0, 10000.0, 0, 10000.0])),
    ("ModernBertDecoder", "windows", {
        "hidden_size": 96, "num_attention_heads": 3, "intermediate_size": 77, "num_hidden_layers": 4, "vocab_size": 271,
        "max_position_embeddings": 128, "local_attention": 18}),
    ("ModernBertDecoder", "biases, untied", {
        "hidden_size": 88, "num_attention_heads": 2, "intermediate_size": 70, "num_hidden_layers": 2, "vocab_size": 269,
        "max_position_embeddings": 128, "local_attention": 24, "attention_bias": True, "mlp_bias": True,
        "tie_word_embeddings": False, "decoder_bias": False}),
    ("Olmoe", "clipped after the norms", without_head_dim(
        88, 2, 1, 33, 271, num_experts=4, num_experts_per_tok=2, clip_qkv=0.6)),
    ("Llama", "biases everywhere", without_head_dim(88, 2, 1, 77, 271, attention_bias=True, mlp_bias=True)),
    ("Llama", "dynamic scaling", without_head_dim(96, 3, 1, 70, 269, **rope(10000.0, **DYNAMIC))),
    ("Qwen3", "biases of attention", sizes(62, 2, 1, 68, 85, 269, attention_bias=True)),
    ("GPTNeoX", "no biases in attention", {
        "hidden_size": 96, "num_attention_heads": 2, "num_hidden_layers": 2, "intermediate_size": 70,
        "vocab_size": 269, "max_position_embeddings": 64, "attention_bias": False}),
    ("Gemma", "one KV head of 40", sizes(75, 3, 1, 40, 101, 271)),
    ("Gemma", "the first name of gelu, biases", sizes(66, 2, 2, 64, 77, 269, hidden_act="gelu", attention_bias=True)),
    ("Gemma3nText", "shared keys, three streams, odd sizes", sizes(
        76, 4, 2, 24, 90, 271, layers=6, vocab_size_per_layer_input=260, hidden_size_per_layer_input=20, laurel_rank=5,
        layer_types=[*LOCAL_FULL, *LOCAL_FULL, *LOCAL_FULL], num_kv_shared_layers=3, sliding_window=9, altup_num_inputs=3,
        altup_active_idx=1, intermediate_size=[90, 64, 101, 90, 72, 90], activation_sparsity_pattern=[
            0.9, 0.5, 0.0, 0.3, 0.0, 0.7])),
    ("Gemma3nText", "no shared keys, scaled rotation, no weights of the active stream", sizes(
        64, 2, 1, 32, 64, 277, layers=3, vocab_size_per_layer_input=277, hidden_size_per_layer_input=32, laurel_rank=8,
        num_kv_shared_layers=0, sliding_window=200, altup_correct_scale=False, final_logit_softcapping=3.0,
        layer_types=["sliding_attention", "full_attention", "sliding_attention"], rope_parameters={
            "full_attention": {"rope_theta": 50000.0, "rope_type": "linear", "factor": 2.0},
            "sliding_attention": {"rope_theta": 3000.0, "rope_type": "default"}})),
    ("Gemma4Text", "shared keys, wide heads and blocks", sizes(
        76, 4, 2, 24, 45, 271, layers=6, vocab_size_per_layer_input=271, hidden_size_per_layer_input=20,
        layer_types=[*LOCAL_FULL, *LOCAL_FULL, *LOCAL_FULL], num_kv_shared_layers=3, sliding_window=9, global_head_dim=40,
        use_double_wide_mlp=True)),
    ("Gemma4Text", "values that are keys, no embeddings of layers", sizes(
        60, 4, 2, 20, 77, 277, layers=3, hidden_size_per_layer_input=0, global_head_dim=512, num_global_key_value_heads=1,
        attention_k_eq_v=True, sliding_window=200, final_logit_softcapping=4.0, attention_bias=True,
        layer_types=["sliding_attention", "full_attention", "full_attention"])),
    ("DiffLlama", "heads of 20, biases, tied", sizes(
        76, 6, 2, 20, 75, 271, layers=3, attention_bias=True, tie_word_embeddings=True)),
    ("DiffLlama", "heads of 32, linear scaling", sizes(
        64, 4, 4, 32, 64, 277, **rope(5000.0, rope_type="linear", factor=2.0))),
    ("VaultGemma", "caps and windows", sizes(
        60, 4, 2, 40, 81, 271, layers=4, sliding_window=9, query_pre_attn_scalar=37, attn_logit_softcapping=2.0,
        final_logit_softcapping=3.0)),
    ("VaultGemma", "no caps", sizes(
        66, 2, 1, 64, 70, 269, attn_logit_softcapping=None, final_logit_softcapping=None)),
    ("Ministral", "window in some layers", sizes(
        60, 4, 2, 44, 93, 271, layers=3, sliding_window=9,
        layer_types=["sliding_attention", "full_attention", "sliding_attention"])),
    ("Ministral", "window in every layer", sizes(84, 3, 1, 56, 70, 269, sliding_window=14, **rope(1000000.0))),
    ("Ministral3", "scaled queries", sizes(64, 4, 2, 64, 96, 271, **rope(
        1000000.0, **YARN, mscale=1.0, mscale_all_dim=1.0, llama_4_scaling_beta=0.4))),
    ("Ministral3", "scaled queries, tied", sizes(60, 3, 1, 52, 77, 269, tie_word_embeddings=True, **rope(
        10000.0, llama_4_scaling_beta=0.7, original_max_position_embeddings=8))),
    ("InternLM3", "biases everywhere", sizes(60, 3, 1, 44, 77, 271, qkv_bias=True, bias=True)),
    ("InternLM3", "plain", sizes(66, 2, 2, 64, 71, 269)),
    ("Exaone", "llama3 scaling", sizes(90, 3, 1, 44, 130, 271, **rope(
        500000.0, **LLAMA3, original_max_position_embeddings=16))),
    ("Exaone", "tied, exact gelu", sizes(66, 2, 2, 60, 71, 269, hidden_act="gelu", **TIED)),
    ("Exaone4", "windows", without_head_dim(88, 2, 1, 77, 271, layers=5, sliding_window=9)),
    ("Exaone4", "no window", without_head_dim(96, 3, 3, 70, 269, sliding_window=None, layer_types=["full_attention"] * 2, **rope(1000000.0))),
    ("Cohere", "norms of heads", without_head_dim(96, 3, 1, 77, 271, use_qk_norm=True, logit_scale=0.3)),
    ("Cohere", "biases, untied", without_head_dim(
        88, 2, 2, 70, 269, layers=3, attention_bias=True, logit_scale=1.5, **UNTIED)),
    ("Cohere2", "windows", without_head_dim(96, 3, 1, 77, 271, layers=5, sliding_window=9, logit_scale=0.3)),
    ("Cohere2", "listed windows, biases", without_head_dim(
        88, 2, 1, 70, 269, layers=3, sliding_window=12, attention_bias=True,
        layer_types=["full_attention", "sliding_attention", "sliding_attention"])),
    ("Glm", "half a head", sizes(60, 4, 2, 44, 81, 271)),
    ("Glm", "whole heads, no biases", sizes(66, 3, 1, 60, 77, 269, attention_bias=False, **rope(
        20000.0, partial_rotary_factor=1.0))),
    ("Glm4", "half a head", sizes(60, 4, 2, 44, 81, 271)),
    ("Glm4", "a quarter, tied, no biases", sizes(66, 3, 1, 64, 77, 269, layers=3, attention_bias=False, **TIED, **rope(
        20000.0, partial_rotary_factor=0.25))),
    ("StableLm", "in turn, biases", without_head_dim(96, 3, 1, 77, 271, use_qkv_bias=True)),
    ("StableLm", "parallel, norms of heads", without_head_dim(
        96, 4, 2, 70, 269, layers=3, use_parallel_residual=True, qk_layernorm=True, **rope(
            10000.0, partial_rotary_factor=0.5))),
    ("Starcoder2", "window", without_head_dim(96, 3, 1, 77, 271, layers=3, sliding_window=9)),
    ("Starcoder2", "no biases, untied", without_head_dim(88, 2, 2, 70, 269, use_bias=False, **UNTIED)),
    ("Phi", "half a head", without_head_dim(96, 3, 3, 77, 271)),
    ("Phi", "norms of heads, a quarter", without_head_dim(
        128, 2, 1, 70, 269, layers=3, qk_layernorm=True, **rope(10000.0, partial_rotary_factor=0.25))),
    ("Olmo", "clipped", without_head_dim(96, 3, 1, 77, 271, clip_qkv=0.8)),
    ("Olmo", "biases, tied", without_head_dim(88, 2, 2, 70, 269, layers=3, attention_bias=True, **TIED)),
    ("Nemotron", "half a head", sizes(60, 4, 2, 44, 81, 271)),
    ("Nemotron", "biases, whole heads", sizes(66, 3, 1, 60, 77, 269, attention_bias=True, mlp_bias=True, **rope(
        20000.0, partial_rotary_factor=1.0))),
    ("Jais2", "biases everywhere", sizes(60, 4, 2, 44, 81, 271)),
    ("Jais2", "no biases but of norms", sizes(66, 3, 1, 60, 77, 269, attention_bias=False, mlp_bias=False, **TIED)),
    ("Arcee", "plain", sizes(60, 4, 2, 44, 81, 271)),
    ("Arcee", "biases, yarn", sizes(64, 2, 1, 64, 77, 269, attention_bias=True, mlp_bias=True, **rope(10000.0, **YARN))),
    ("NanoChat", "plain", without_head_dim(96, 3, 1, 77, 271, final_logit_softcapping=4.0)),
    ("NanoChat", "biases, no cap, tied", without_head_dim(
        88, 2, 2, 70, 269, layers=3, attention_bias=True, final_logit_softcapping=None, **TIED)),
    ("Apertus", "llama3 scaling", without_head_dim(96, 3, 1, 77, 271, **rope(
        12000000.0, **LLAMA3, original_max_position_embeddings=16))),
    ("Apertus", "biases, squared", without_head_dim(
        88, 2, 2, 70, 269, layers=3, attention_bias=True, hidden_act="relu2", **rope(10000.0))),
    ("Persimmon", "half a head", {
        "hidden_size": 96, "num_attention_heads": 3, "intermediate_size": 77, "num_hidden_layers": 2,
        "vocab_size": 271, "max_position_embeddings": 128}),
    ("Persimmon", "no norms of heads, relu", {
        "hidden_size": 88, "num_attention_heads": 2, "intermediate_size": 70, "num_hidden_layers": 3,
        "vocab_size": 269, "max_position_embeddings": 128, "qk_layernorm": False, "hidden_act": "relu"}),
    ("SeedOss", "biases of Q, K and V", sizes(60, 4, 2, 44, 81, 271)),
    ("SeedOss", "biases of the rest", sizes(
        66, 3, 1, 60, 77, 269, attention_bias=False, attention_out_bias=True, mlp_bias=True)),
    ("Ernie4_5", "plain", sizes(60, 4, 2, 44, 81, 271)),
    ("Ernie4_5", "biases, untied", sizes(66, 3, 1, 60, 77, 269, layers=3, use_bias=True, **UNTIED)),
    ("Helium", "plain", sizes(96, 3, 1, 32, 77, 271)),
    ("Helium", "biases", sizes(88, 2, 2, 44, 70, 269, attention_bias=True, mlp_bias=True)),
    ("HunYuanDenseV1", "plain", sizes(60, 4, 2, 44, 81, 271)),
    ("HunYuanDenseV1", "a larger base, biases, tied", sizes(66, 3, 1, 60, 77, 269, layers=3, attention_bias=True, **TIED, **rope(
        10000.0, **DYNAMIC, alpha=1000.0))),
    ("HyperCLOVAX", "all factors", without_head_dim(
        96, 3, 1, 77, 271, embedding_multiplier=6.5, residual_multiplier=0.37, attention_multiplier=0.11,
        logits_scaling=0.4)),
    ("HyperCLOVAX", "no factors, tied", without_head_dim(88, 2, 2, 70, 269, layers=3, mlp_bias=True, **TIED)),
]

def latent(hidden, heads, wide, vocab, layers=2, *, query, rank, plain, rotated, value, **more):
    """Sizes of latent attention. A `query` of 0: queries come from the whole hidden state."""
    made = sizes(hidden, heads, heads, 0, wide, vocab, layers, **more)
    del made["head_dim"]
    return {
        **made, "q_lora_rank": query or None, "kv_lora_rank": rank, "qk_nope_head_dim": plain,
        "qk_rope_head_dim": rotated, "v_head_dim": value,
    }


def deepseek(experts, used, inner, dense, shared, **more):
    return {
        "n_routed_experts": experts, "num_experts_per_tok": used, "moe_intermediate_size": inner,
        "first_k_dense_replace": dense, "n_shared_experts": shared, **more,
    }


OF_KEYS = {"mscale": 0.7, "mscale_all_dim": 0.7}

CASES += [
    ("Mixtral", "eight experts", sizes(
        72, 3, 1, 24, 50, 271, num_local_experts=8, num_experts_per_tok=3, **rope(10000.0))),
    ("Mixtral", "one expert, a window", without_head_dim(
        64, 4, 2, 44, 269, num_local_experts=3, num_experts_per_tok=1, sliding_window=17, **rope(1000000.0))),
    ("Qwen2Moe", "a shared block", without_head_dim(
        64, 4, 2, 70, 271, layers=3, num_experts=6, num_experts_per_tok=2, moe_intermediate_size=36,
        shared_expert_intermediate_size=50, norm_topk_prob=False)),
    ("Qwen2Moe", "dense layers in between", without_head_dim(
        64, 2, 1, 70, 269, layers=4, num_experts=5, num_experts_per_tok=3, moe_intermediate_size=28,
        shared_expert_intermediate_size=33, norm_topk_prob=True, mlp_only_layers=[1], decoder_sparse_step=1)),
    ("Qwen3Moe", "dense layers in between", sizes(
        60, 2, 1, 36, 70, 269, layers=4, num_experts=5, num_experts_per_tok=3, moe_intermediate_size=28,
        mlp_only_layers=[2], decoder_sparse_step=2)),
    ("GraniteMoe", "factors", without_head_dim(
        72, 3, 1, 40, 271, num_local_experts=5, num_experts_per_tok=2, embedding_multiplier=3.0,
        residual_multiplier=0.4, attention_multiplier=0.2, logits_scaling=2.0)),
    ("GraniteMoe", "two experts of two", without_head_dim(
        64, 2, 2, 33, 269, num_local_experts=2, num_experts_per_tok=2, attention_multiplier=0.125)),
    ("GraniteMoeShared", "a shared block", without_head_dim(
        64, 4, 2, 40, 269, num_local_experts=4, num_experts_per_tok=2, shared_intermediate_size=52,
        attention_multiplier=0.25, logits_scaling=1.5)),
    ("GraniteMoeHybrid", "experts beside the block", without_head_dim(
        64, 4, 2, 40, 271, layers=3, num_local_experts=4, num_experts_per_tok=2, shared_intermediate_size=48,
        mamba_n_heads=8, mamba_d_head=16, mamba_d_state=16, mamba_n_groups=1, attention_multiplier=0.25,
        layer_types=["mamba", "attention", "mamba"])),
    ("GraniteMoeHybrid", "experts and factors", without_head_dim(
        64, 2, 1, 36, 269, layers=2, num_local_experts=6, num_experts_per_tok=3, shared_intermediate_size=40,
        mamba_n_heads=4, mamba_d_head=32, mamba_d_state=16, mamba_n_groups=1, embedding_multiplier=3.0,
        residual_multiplier=0.4, attention_multiplier=0.2, logits_scaling=2.0, position_embedding_type="rope",
        layer_types=["attention", "mamba"])),
    ("Lfm2Moe", "a dense layer first", without_head_dim(
        64, 4, 2, 70, 271, layers=3, num_experts=6, num_experts_per_tok=2, moe_intermediate_size=40,
        num_dense_layers=1, layer_types=["conv", "full_attention", "conv"])),
    ("Lfm2Moe", "scaled, without biases", without_head_dim(
        72, 3, 1, 60, 269, layers=2, num_experts=4, num_experts_per_tok=3, moe_intermediate_size=33,
        num_dense_layers=0, use_expert_bias=False, norm_topk_prob=False, routed_scaling_factor=1.5,
        layer_types=["full_attention", "conv"])),
    ("Lfm3", "windows in some layers", sizes(
        64, 4, 2, 16, 70, 271, layers=5, sliding_window=9, conv_L_cache=4,
        layer_types=["conv", "conv", "full_attention", "conv", "sliding_attention"])),
    ("Lfm3", "kinds as usual, a window as long as the context, untied", sizes(
        72, 3, 1, 20, 61, 269, layers=7, sliding_window=256, tie_word_embeddings=False)),
    ("Ernie4_5_Moe", "two shared blocks", without_head_dim(
        64, 4, 2, 70, 271, layers=3, moe_num_experts=6, moe_k=2, moe_num_shared_experts=2, moe_intermediate_size=28,
        moe_layer_start_index=1)),
    ("Ernie4_5_Moe", "every second layer, none shared", without_head_dim(
        60, 3, 1, 50, 269, layers=4, moe_num_experts=5, moe_k=3, moe_num_shared_experts=0,
        moe_intermediate_size=30, moe_layer_start_index=0, moe_layer_end_index=2, moe_layer_interval=2,
        tie_word_embeddings=False)),
    ("DeepseekV2", "greedy", {**latent(
        64, 4, 70, 271, layers=3, query=0, rank=40, plain=16, rotated=8, value=16),
        **deepseek(6, 3, 33, 1, 2)}),
    ("DeepseekV2", "by groups, yarn", {**latent(
        60, 3, 50, 269, layers=2, query=44, rank=36, plain=20, rotated=12, value=28,
        **rope(10000.0, **YARN, **OF_KEYS)),
        **deepseek(8, 3, 28, 0, 1, n_group=4, topk_group=2, topk_method="group_limited_greedy",
                   routed_scaling_factor=1.7)}),
    ("DeepseekV3", "by groups", {**latent(
        64, 4, 70, 271, layers=3, query=48, rank=40, plain=16, rotated=8, value=16),
        **deepseek(8, 3, 33, 1, 1, n_group=4, topk_group=2)}),
    ("DeepseekV3", "yarn, values wider than keys, one group", {**latent(
        66, 3, 50, 269, layers=2, query=0, rank=33, plain=10, rotated=8, value=23,
        **rope(10000.0, **YARN, **OF_KEYS)),
        **deepseek(5, 2, 30, 1, 2, n_group=1, topk_group=1, norm_topk_prob=False, rope_interleave=False)}),
    ("Dots1", "a dense layer first, windows after it", {**without_head_dim(
        64, 4, 2, 70, 271, layers=3, sliding_window=9, max_window_layers=1, attention_bias=True, **rope(10000.0)),
        **deepseek(6, 3, 33, 1, 2, norm_topk_prob=True, routed_scaling_factor=2.5)}),
    ("Dots1", "groups, wide heads, weights as they are", {**sizes(
        60, 3, 1, 36, 50, 269, sliding_window=None, tie_word_embeddings=True, **rope(50000.0, **YARN)),
        **deepseek(8, 3, 28, 0, 1, n_group=4, topk_group=2)}),
    ("Youtu", "tied", latent(
        64, 4, 70, 271, query=48, rank=40, plain=16, rotated=8, value=16, pad_token_id=None)),
    ("Youtu", "halves, not tied", latent(
        60, 3, 50, 269, query=36, rank=36, plain=20, rotated=12, value=30, rope_interleave=False,
        tie_word_embeddings=False, pad_token_id=None)),
    ("MiniCPM3", "factors", latent(
        64, 4, 70, 271, query=48, rank=40, plain=16, rotated=8, value=16, dim_model_base=32)),
    ("MiniCPM3", "longrope", latent(
        66, 3, 50, 269, query=36, rank=36, plain=20, rotated=12, value=28, scale_emb=3, scale_depth=0.9,
        dim_model_base=66, tie_word_embeddings=False,
        **rope(10000.0, rope_type="longrope", short_factor=factors(6, 1.0, 0.25),
               long_factor=factors(6, 2.0, 0.5), original_max_position_embeddings=64))),
    ("GptOss", "a window", sizes(
        64, 4, 2, 16, 36, 271, layers=2, num_local_experts=5, num_experts_per_tok=2, sliding_window=9,
        **rope(10000.0))),
    ("GptOss", "yarn, not rounded", sizes(
        66, 2, 1, 40, 33, 269, layers=2, num_local_experts=3, num_experts_per_tok=3, sliding_window=16,
        swiglu_limit=1.5, layer_types=["full_attention", "sliding_attention"],
        **rope(150000.0, rope_type="yarn", factor=8.0, beta_fast=32.0, beta_slow=1.0, truncate=False,
               original_max_position_embeddings=16))),
    ("Phimoe", "sixteen experts", without_head_dim(
        64, 4, 2, 40, 271, num_local_experts=16, num_experts_per_tok=2, router_jitter_noise=0.1)),
    ("Phimoe", "biases, longrope", without_head_dim(
        72, 3, 1, 36, 269, num_local_experts=6, num_experts_per_tok=2, attention_bias=True, lm_head_bias=True,
        **rope(10000.0, rope_type="longrope", short_factor=factors(12, 1.0, 0.25),
               long_factor=factors(12, 2.0, 0.5), short_mscale=1.2, long_mscale=1.2,
               original_max_position_embeddings=64))),
]

# Files of earlier versions of transformers, by class: keys that have moved or were missing.
EARLIER = [
    ("Llama", "llama 3.1", {
        "hidden_size": 2048, "num_attention_heads": 32, "num_key_value_heads": 8, "max_position_embeddings": 131072,
        "rms_norm_eps": 1e-5, "rope_theta": 500000.0, "rope_scaling": {
            **LLAMA3, "original_max_position_embeddings": 8192}, "sliding_window": 4096}),
    ("Llama", "the first name of types", {"rope_scaling": {"type": "linear", "factor": 4.0}, "rope_theta": 1000000}),
    ("Llama", "a part turned", {"partial_rotary_factor": 0.5, "rope_theta": 20000.0, "head_dim": 96}),
    ("Llama", "yarn without an original length", {
        "max_position_embeddings": 32768, "rope_scaling": {"rope_type": "yarn", "factor": 4.0}}),
    ("Mistral", "no window", {"sliding_window": None, "rope_theta": 1000000.0, "max_position_embeddings": 32768}),
    ("Mistral", "a window that is not said", {"hidden_size": 1024}),
    ("Llama", "heads that are not said", {"num_key_value_heads": None, "num_attention_heads": 16}),
    ("SmolLM3", "every fourth layer", {"no_rope_layer_interval": 4, "use_sliding_window": False, "sliding_window": None}),
    ("SmolLM3", "windows where nothing turns", {"use_sliding_window": True, "sliding_window": 512}),
    ("Granite", "factors", {"attention_multiplier": 0.0078125, "embedding_multiplier": 12.0, "logits_scaling": 16.0}),
    ("Qwen2", "a window that is not used", {"sliding_window": 131072, "max_window_layers": 21, "rope_theta": 1000000.0}),
    ("Qwen2", "a window", {"use_sliding_window": True, "sliding_window": 8192, "max_window_layers": 20}),
    ("Qwen2", "yarn", {"rope_theta": 1000000.0, "max_position_embeddings": 131072, "rope_scaling": {
        "type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}}),
    ("Qwen3", "no width of heads", {"hidden_size": 1024, "num_attention_heads": 16, "rope_theta": 1000000, "rope_scaling": None}),
    ("Qwen3Moe", "a window from all layers on", {
        "use_sliding_window": True, "sliding_window": 4096, "max_window_layers": 20, "num_experts": 16, "head_dim": 128}),
    ("Olmo2", "of 7B", {"rope_theta": 500000, "rms_norm_eps": 1e-6, "vocab_size": 100352}),
    ("Olmo3", "yarn", {"max_position_embeddings": 65536, "rope_theta": 500000, "rope_scaling": {
        "attention_factor": 1.2079441541679836, "beta_fast": 32.0, "beta_slow": 1.0, "factor": 8.0,
        "original_max_position_embeddings": 8192, "rope_type": "yarn"}}),
    ("Olmoe", "no clipping", {"clip_qkv": None, "rope_theta": 10000.0, "num_experts_per_tok": 4}),
    ("Gemma2", "of 27B", {"query_pre_attn_scalar": 144, "num_hidden_layers": 46, "head_dim": 128}),
    ("Gemma2", "no caps", {"attn_logit_softcapping": None, "final_logit_softcapping": None}),
    ("Gemma3Text", "of 1B", {
        "sliding_window": 512, "sliding_window_pattern": 6, "rope_theta": 1000000, "rope_local_base_freq": 10000,
        "rope_scaling": None, "num_key_value_heads": 1, "attn_logit_softcapping": None}),
    ("Gemma3Text", "of 4B", {"rope_scaling": {"factor": 8.0, "rope_type": "linear"}, "sliding_window": 1024}),
    ("Gemma3Text", "another pattern", {"sliding_window_pattern": 3, "rope_local_base_freq": 30000}),
    ("Phi3", "128k", {
        "max_position_embeddings": 131072, "original_max_position_embeddings": 4096, "sliding_window": 262144,
        "rope_scaling": {"type": "longrope", "short_factor": factors(48, 1.0, 0.125),
                         "long_factor": factors(48, 1.5, 0.25)}}),
    ("Phi3", "the first name of longrope", {
        "max_position_embeddings": 131072, "rope_scaling": {
            "type": "su", "original_max_position_embeddings": 4096, "short_factor": factors(48, 1.0, 0.125), "long_factor": factors(48, 1.5, 0.25)}}),
    ("Phi3", "a part turned", {"partial_rotary_factor": 0.75, "num_key_value_heads": 8, "sliding_window": 2047}),
    ("Lfm2", "of 1.2B", {
        "block_auto_adjust_ff_dim": True, "block_ff_dim": 12288, "block_ffn_dim_multiplier": 1.0,
        "block_multiple_of": 256, "full_attn_idxs": [2, 5, 8], "num_hidden_layers": 16, "rope_theta": 1000000.0,
        "tie_embedding": True, "intermediate_size": 6000}),
    ("Lfm2", "untied", {"tie_embedding": False, "full_attn_idxs": None}),
    ("Mamba", "of 130M", {"d_inner": 1536, "intermediate_size": 1536, "time_step_rank": "auto", "state_size": 16}),
    ("Mamba2", "limits", {"time_step_limit": [0.0, float("inf")], "rms_norm": True, "n_groups": 1, "tie_word_embeddings": True}),
    ("GraniteMoeHybrid", "of 350M", {
        "num_local_experts": 0, "layer_types": (["mamba"] * 5 + ["attention"]) * 5 + ["mamba", "mamba"],
        "position_embedding_type": "nope", "shared_intermediate_size": 2048, "mamba_n_heads": 64}),
    ("GraniteMoeHybrid", "turned", {
        "num_local_experts": 0, "layers_block_type": ["attention"] * 32, "position_embedding_type": "rope",
        "rope_theta": 50000}),
    ("GPT2", "as published", {"n_ctx": 1024, "n_embd": 1024, "n_head": 16, "n_layer": 24, "n_inner": None}),
    ("GPT2", "common names", {"hidden_size": 512, "num_hidden_layers": 3, "num_attention_heads": 8, "n_inner": 1000}),
    ("GPTNeoX", "Pythia", {"rotary_pct": 0.25, "rotary_emb_base": 20000, "hidden_act": "gelu"}),
    ("GPTNeoX", "whole heads", {"rotary_pct": 1.0, "hidden_act": "gelu_fast", "use_parallel_residual": False}),
    ("GPTNeoX", "linear", {"rotary_pct": 0.5, "rope_scaling": {"type": "linear", "factor": 2.0}}),
]
