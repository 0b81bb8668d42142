"""The vision models for golden.py: odd sizes, every supported configuration option."""

# The image token comes after the bytes, merges and special tokens of the tests' tokenizer.
IMAGE_TOKEN = 269
TEXT = {
    **{"vocab_size": IMAGE_TOKEN + 1, "hidden_size": 48, "intermediate_size": 80, "num_hidden_layers": 2},
    **{"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 12, "max_position_embeddings": 512},
    **{"bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 2},
}
TOWER = {
    **{"hidden_size": 36, "intermediate_size": 50, "num_hidden_layers": 3, "num_attention_heads": 3},
    **{"image_size": 24, "patch_size": 4},
}
MEANS = {"image_mean": [0.5, 0.4, 0.3], "image_std": [0.5, 0.25, 0.125]}


def no_extra(ids, config):
    return {}


def features_of(model, pixels, values):
    made = model.get_image_features(pixel_values=values["pixel_values"])
    made = getattr(made, "pooler_output", made)
    rows = [row for part in made for row in part.reshape(-1, part.shape[-1])]
    return __import__("torch").stack(rows)


def tiles(rows_of_tile):
    """Idefics3Processor's texts around the image tokens."""
    frame = "<fake_token_around_image>"

    def parts(pixels):
        rows, columns = pixels["rows"][0][0], pixels["cols"][0][0]
        if rows == 0:
            return [f"{frame}<global-img>", rows_of_tile, frame]
        all_parts = []
        for row in range(rows):
            for column in range(columns):
                start = "\n" if row > 0 and column == 0 else ""
                all_parts += [f"{start}{frame}<row_{row + 1}_col_{column + 1}>", rows_of_tile]
        return [*all_parts, f"\n\n{frame}<global-img>", rows_of_tile, frame]

    return parts


def idefics3(name, picture, scale=2, kind="Idefics3", text=None, longest=2, **tower):
    sizes = {**TOWER, **tower}
    side = sizes["image_size"]
    return {
        **{"name": name, "class": f"{kind}ForConditionalGeneration", "config_class": f"{kind}Config"},
        "config": {
            "text_config": {"model_type": "llama", **TEXT, **(text or {})},
            "vision_config": sizes,
            **{"scale_factor": scale, "image_token_id": IMAGE_TOKEN},
        },
        "processor_class": f"{kind}ImageProcessorPil",
        "processor": {"size": {"longest_edge": longest * side}, "max_image_size": {"longest_edge": side}, **MEANS},
        **{"picture": picture, "asked": {"return_row_col_info": True}},
        **{"parts": tiles((side // sizes["patch_size"] // scale) ** 2), "features": features_of, "extra": no_extra},
    }


def llava(name, picture, processor="CLIPImageProcessorPil", more=None, text=None, asked=None, **tower):
    sizes = {"model_type": "clip_vision_model", **TOWER, "projection_dim": 16, **tower}
    side = sizes["image_size"]
    return {
        **{"name": name, "class": "LlavaForConditionalGeneration", "config_class": "LlavaConfig"},
        "config": {
            "text_config": {"model_type": "llama", **TEXT, **(text or {})},
            "vision_config": sizes,
            **{"image_token_index": IMAGE_TOKEN, **(more or {})},
        },
        "processor_class": processor,
        "processor": {
            **{"size": {"shortest_edge": side}, "crop_size": {"height": side, "width": side}},
            **(asked or {}),
        },
        **{"picture": picture, "parts": lambda pixels: [(side // sizes["patch_size"]) ** 2]},
        **{"features": features_of, "extra": no_extra},
    }


def token_types(ids, config):
    torch = __import__("torch")
    return {"token_type_ids": (torch.tensor([ids]) == IMAGE_TOKEN).long()}


def gemma(name, picture, text=None, per_side=3, **tower):
    sizes = {"model_type": "siglip_vision_model", **TOWER, **tower}
    side = sizes["image_size"]
    return {
        **{"name": name, "class": "Gemma3ForConditionalGeneration", "config_class": "Gemma3Config"},
        "config": {
            "text_config": {
                **{"model_type": "gemma3_text", **TEXT, "query_pre_attn_scalar": 12, "sliding_window": 64},
                **(text or {}),
            },
            "vision_config": sizes,
            **{"tie_word_embeddings": (text or {}).get("tie_word_embeddings", True)},
            **{"mm_tokens_per_image": per_side**2, "image_token_index": IMAGE_TOKEN},
            **{"boi_token_index": 0, "eoi_token_index": 1},
        },
        "processor_class": "Gemma3ImageProcessorPil",
        "processor": {"size": {"height": side, "width": side}, **MEANS},
        **{"picture": picture, "features": features_of, "extra": token_types},
        "parts": lambda pixels: ["\n\n<start_of_image>", per_side**2, "<end_of_image>\n\n"],
    }


def placed_features(model, pixels, values):
    made = model.get_image_features(values["pixel_values"], values["image_grid_thw"]).pooler_output
    return __import__("torch").cat(tuple(made))


def placed_types(ids, config):
    torch = __import__("torch")
    return {"mm_token_type_ids": (torch.tensor([ids]) == IMAGE_TOKEN).int()}


OLDER = {"depth": 2, "embed_dim": 36, "num_heads": 3, "mlp_ratio": 2, "hidden_size": TEXT["hidden_size"]}
WINDOWED = {
    **{"depth": 4, "hidden_size": 36, "num_heads": 3, "intermediate_size": 50, "out_hidden_size": TEXT["hidden_size"]},
    **{"window_size": 16, "fullatt_block_indexes": [1, 3]},
}


def qwen(name, picture, second=None, sections=(1, 3, 2), text=None, pixels=(64, 600), kind="Qwen2", **tower):
    sizes = {**(OLDER if kind == "Qwen2" else WINDOWED), "patch_size": 4, "spatial_merge_size": 2, **tower}
    rope = {"rope_type": "default", "mrope_section": list(sections), "rope_theta": 5000.0}
    own = {key: value for key, value in TEXT.items() if key != "head_dim"}
    return {
        **{"name": name, "class": f"{kind}VLForConditionalGeneration", "config_class": f"{kind}VLConfig"},
        "config": {
            "text_config": {**own, "rope_parameters": rope, **(text or {})},
            **{"vision_config": sizes, "image_token_id": IMAGE_TOKEN, "video_token_id": 3},
            **{"vision_start_token_id": 4, "vision_end_token_id": 5},
            "tie_word_embeddings": (text or {}).get("tie_word_embeddings", False),
        },
        "processor_class": "Qwen2VLImageProcessorPil",
        "processor": {
            **{"size": {"shortest_edge": pixels[0], "longest_edge": pixels[1]}, **MEANS},
            **{"patch_size": sizes["patch_size"], "merge_size": sizes["spatial_merge_size"]},
        },
        **{"picture": picture, "features": placed_features, "extra": placed_types},
        **({"second": second} if second else {}),
        "parts": lambda made, which=0: [
            *["<|vision_start|>", int(made["image_grid_thw"][which].prod()) // sizes["spatial_merge_size"] ** 2],
            "<|vision_end|>",
        ],
    }


CASES = [
    qwen("a wide picture, made smaller", [61, 33]),
    qwen("a tall picture, made larger", [5, 21], sections=[2, 2, 2], pixels=(800, 4000)),
    qwen("squares of three, more rows than a block", [120, 100], spatial_merge_size=3, patch_size=3, pixels=(81, 9000),
         text={"tie_word_embeddings": True}, depth=1, embed_dim=40, num_heads=2, mlp_ratio=3),
    qwen("halves rounded to even sides", [20, 28], sections=[0, 4, 2], patch_size=4, num_heads=1),
    qwen("a wide picture, a text, and a tall one", [64, 16], second=[16, 40], pixels=(64, 2000)),
    qwen("windows cut at two edges", [61, 33], kind="Qwen2_5_", pixels=(64, 2400), window_size=24),
    qwen("one window, a layer after the last full one", [16, 16], kind="Qwen2_5_", depth=3, fullatt_block_indexes=[0]),
    qwen("windows of one square, a wide picture, a text, and a tall one", [64, 16], second=[16, 44], kind="Qwen2_5_",
         pixels=(64, 2000), window_size=8, num_heads=1, sections=[0, 4, 2]),
    qwen("windows of more rows than a block, squares of three", [130, 90], kind="Qwen2_5_", pixels=(81, 12000),
         spatial_merge_size=3, patch_size=3, window_size=31, depth=2, hidden_size=40, num_heads=2, intermediate_size=33,
         fullatt_block_indexes=[1]),
    gemma("nine rows", [40, 21]),
    gemma("rows in windows and in full layers", [23, 50], per_side=6,
          text={"tie_word_embeddings": False, "num_hidden_layers": 4, "sliding_window": 40, "layer_types": ["sliding_attention", "full_attention"] * 2}),
    gemma("more rows than a block", [64, 64], per_side=10, image_size=60, patch_size=6,
          text={"tie_word_embeddings": False, "sliding_window": 130, "layer_types": ["full_attention", "sliding_attention"]}),
    idefics3("tiles", [40, 21]),
    idefics3("one tile, squares of three", [19, 20], scale=3, longest=1, image_size=18, patch_size=3, hidden_act="silu"),
    idefics3("tied tables", [9, 30], text={"tie_word_embeddings": True}, num_hidden_layers=1, layer_norm_eps=1e-4),
    idefics3("SmolVLM's class", [30, 30], kind="SmolVLM"),
    llava("the middle of a wide picture", [61, 33]),
    llava("a larger square, the last layer", [20, 47], more={"vision_feature_layer": -1},
          asked={"size": {"shortest_edge": 31}}),
    llava("padded", [50, 27], processor="LlavaImageProcessorPil", asked={"do_pad": True, **MEANS}),
    llava("SigLIP, stretched, every row", [37, 23], processor="SiglipImageProcessorPil",
          more={"vision_feature_select_strategy": "full", "projector_hidden_act": "gelu_pytorch_tanh"},
          asked={"size": {"height": 24, "width": 24}, "crop_size": None}, model_type="siglip_vision_model"),
]
