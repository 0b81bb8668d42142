# Tiny random decoders of many families. In: the name of a family. Out: its model of transformers, with
# weights that make attention, gates and norms matter, and a folder of it with a tokenizer.
import zlib
from pathlib import Path

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

VOCAB, HIDDEN, LAYERS, HEADS, KV_HEADS, HEAD_DIM, INNER, CONTEXT = 300, 64, 2, 4, 2, 16, 96, 512

USUAL = dict(vocab_size=VOCAB, hidden_size=HIDDEN, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
             intermediate_size=INNER, max_position_embeddings=CONTEXT, bos_token_id=1, eos_token_id=2, pad_token_id=0)
GROUPED = dict(USUAL, num_key_value_heads=KV_HEADS)
WIDE = dict(GROUPED, head_dim=HEAD_DIM)
UNTIED, TIED = dict(tie_word_embeddings=False), dict(tie_word_embeddings=True)
WINDOW = 16
LONG = {"type": "longrope", "short_factor": [1.0] * 8, 
        "long_factor": [2.0 + at / 4 for at in range(8)]}
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 64}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 128}
GEMMA = dict(WIDE, query_pre_attn_scalar=24, sliding_window=WINDOW)

# The class of each family's configuration, and its values.
FAMILIES = {
    "llama": ("LlamaConfig", dict(WIDE, **UNTIED)),
    "llama-3": ("LlamaConfig", dict(WIDE, **UNTIED, rope_scaling=LLAMA3)),
    "llama-yarn": ("LlamaConfig", dict(WIDE, **UNTIED, rope_scaling=YARN)),
    "smollm2": ("LlamaConfig", dict(GROUPED, **TIED, rope_theta=100000.0)),
    "smollm3": ("SmolLM3Config", dict(GROUPED, **TIED, no_rope_layers=[1, 0])),
    "qwen2": ("Qwen2Config", dict(GROUPED, **TIED, rope_theta=1000000.0)),
    "qwen3": ("Qwen3Config", dict(WIDE, **UNTIED, rope_theta=1000000.0)),
    "qwen3-tied": ("Qwen3Config", dict(WIDE, **TIED, rope_theta=1000000.0)),
    "gemma": ("GemmaConfig", dict(WIDE)),
    "gemma2": ("Gemma2Config", dict(GEMMA, final_logit_softcapping=30.0, attn_logit_softcapping=None)),
    "gemma2-capped": ("Gemma2Config", dict(GEMMA, attn_logit_softcapping=50.0)),
    "gemma3": ("Gemma3TextConfig", dict(GEMMA, num_hidden_layers=3, sliding_window_pattern=3,
                                        layer_types=["sliding_attention"] * 2 + ["full_attention"])),
    "phi": ("PhiConfig", dict(USUAL, partial_rotary_factor=0.5)),
    "phi3": ("Phi3Config", dict(GROUPED, **UNTIED, sliding_window=None, original_max_position_embeddings=CONTEXT)),
    "phi3-long": ("Phi3Config", dict(GROUPED, **UNTIED, sliding_window=None, rope_scaling=LONG,
                                     original_max_position_embeddings=64)),
    "mistral": ("MistralConfig", dict(WIDE, **UNTIED, sliding_window=None)),
    "mistral-window": ("MistralConfig", dict(WIDE, **UNTIED, sliding_window=WINDOW)),
    "ministral": ("MinistralConfig", dict(WIDE, **UNTIED, sliding_window=WINDOW)),
    "granite": ("GraniteConfig", dict(GROUPED, **TIED, embedding_multiplier=12.0, residual_multiplier=0.22,
                                      logits_scaling=8.0, attention_multiplier=0.125)),
    "olmo": ("OlmoConfig", dict(GROUPED, **UNTIED)),
    "olmo2": ("Olmo2Config", dict(GROUPED, **UNTIED)),
    "lfm2": ("Lfm2Config", dict(GROUPED, block_ff_dim=INNER, block_auto_adjust_ff_dim=False, conv_L_cache=3,
                                layer_types=["conv", "full_attention"])),
    "starcoder2": ("Starcoder2Config", dict(GROUPED, **TIED, sliding_window=None)),
    "stablelm": ("StableLmConfig", dict(GROUPED, **UNTIED, use_qkv_bias=True, partial_rotary_factor=0.5)),
    "cohere": ("CohereConfig", dict(GROUPED, logit_scale=0.25)),
    "nemotron": ("NemotronConfig", dict(GROUPED, **UNTIED, partial_rotary_factor=0.5)),
    "helium": ("HeliumConfig", dict(WIDE, **UNTIED)),
    "glm": ("GlmConfig", dict(WIDE, **UNTIED, partial_rotary_factor=0.5)),
    "arcee": ("ArceeConfig", dict(WIDE, **UNTIED)),
    "gpt2": ("GPT2Config", dict(vocab_size=VOCAB, n_embd=HIDDEN, n_layer=LAYERS, n_head=HEADS, n_positions=CONTEXT,
                                bos_token_id=1, eos_token_id=2)),
    "gpt-neox": ("GPTNeoXConfig", dict(USUAL, **UNTIED, rotary_pct=0.5)),
    "gptj": ("GPTJConfig", dict(vocab_size=VOCAB, n_embd=HIDDEN, n_layer=LAYERS, n_head=HEADS, n_positions=CONTEXT,
                                 rotary_dim=8, bos_token_id=1, eos_token_id=2, **UNTIED)),
    "gpt-neo": ("GPTNeoConfig", dict(vocab_size=VOCAB, hidden_size=HIDDEN, num_layers=LAYERS, num_heads=HEADS,
                                     attention_types=[[["global", "local"], 1]], window_size=WINDOW,
                                     max_position_embeddings=CONTEXT, bos_token_id=1, eos_token_id=2)),
    "opt": ("OPTConfig", dict(vocab_size=VOCAB, hidden_size=HIDDEN, num_hidden_layers=LAYERS, ffn_dim=INNER,
                              num_attention_heads=HEADS, max_position_embeddings=CONTEXT, word_embed_proj_dim=HIDDEN)),
    "bloom": ("BloomConfig", dict(vocab_size=VOCAB, hidden_size=HIDDEN, n_layer=LAYERS, n_head=HEADS)),
    "falcon": ("FalconConfig", dict(vocab_size=VOCAB, hidden_size=HIDDEN, num_hidden_layers=LAYERS, bos_token_id=1,
                                    num_attention_heads=HEADS, new_decoder_architecture=True, num_kv_heads=KV_HEADS,
                                    eos_token_id=2)),
    "mpt": ("MptConfig", dict(vocab_size=VOCAB, d_model=HIDDEN, n_layers=LAYERS, n_heads=HEADS, max_seq_len=CONTEXT)),
}


# Families for which transformers only has attention in primitive operators.
EAGER = ("gptj", "gpt-neo", "bloom", "mpt", "gemma2-capped")


def spread(model, name):
    """Weights of realistic magnitude: products keep the scale of rows, and no norm is 1 and no bias is 0."""
    torch.manual_seed(zlib.crc32(name.encode()))
    with torch.no_grad():
        for path, value in model.named_parameters():
            if value.ndim >= 2:
                value.normal_(0, 0.4 if "emb" in path or "wte" in path else 1.3 / value.shape[-1] ** 0.5)
            elif path.endswith("bias"):
                value.normal_(0, 0.1)
            else:
                value.normal_(0.0 if name.startswith("gemma") or name == "nemotron" else 1.0, 0.2)


def model_of(name, attention="sdpa", dtype=torch.float32):
    kind, values = FAMILIES[name]
    config = getattr(transformers, kind)(**values)
    if name in EAGER:
        attention = "eager"
    make = transformers.AutoModelForCausalLM.from_config
    try:
        model = make(config, attn_implementation=attention)
    except ValueError:  # Newer versions have fewer families with that attention.
        model = make(config, attn_implementation="eager")
    spread(model, name)
    model.tie_weights()
    return model.eval().to(dtype)


def save_tokenizer(folder):
    """One token per byte in GPT-2's alphabet, and fillers up to the vocabulary size."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokens = letters + [f"<filler_{at}>" for at in range(VOCAB - len(letters))]
    tokenizer = Tokenizer(models.BPE({token: at for at, token in enumerate(tokens)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer).save_pretrained(folder)


def save_model(name, folder, dtype=torch.float32):
    """A folder like a hub repository, for use as the exporters' input."""
    model_of(name, dtype=dtype).save_pretrained(folder)
    save_tokenizer(folder)
    return Path(folder)

