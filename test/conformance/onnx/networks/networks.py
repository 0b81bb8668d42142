# Small networks with random weights. Out: for each name a torch module, an example of its inputs, the names
# of the inputs' open axes, and sizes of these axes to compare on.
import torch
import transformers as tf
from torch import nn
from torchvision import models
from torchvision.models import mobilenetv3

from decoders import DECODERS

TOKENS = [(1, 1), (1, 2), (2, 3), (1, 7), (3, 8), (1, 16), (2, 17), (1, 33), (5, 9), (1, 64)]
BATCHES = [(batch,) for batch in range(1, 11)]
IMAGES = [(1, 32, 32), (2, 32, 32), (1, 64, 32), (1, 32, 96), (3, 64, 64), (1, 96, 96), (2, 32, 64), (1, 128, 32),
          (1, 64, 96), (4, 32, 32)]
SOUNDS = [(1, 400), (1, 401), (2, 500), (1, 777), (1, 1000), (3, 450), (1, 1600), (2, 801), (1, 1234), (1, 2000)]

BODY = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
TEXT = {**BODY, "vocab_size": 97, "max_position_embeddings": 70}
SIGHT = {**BODY, "image_size": 32, "patch_size": 8}
T5 = {"vocab_size": 97, "d_model": 32, "d_kv": 8, "num_heads": 4, "num_layers": 2, "d_ff": 48}
SWIN = {"image_size": 32, "patch_size": 2, "embed_dim": 16, "depths": [2, 2], "num_heads": [2, 4], "window_size": 4}
SOUND = {**BODY, "conv_dim": [16, 16], "conv_stride": [5, 2], "conv_kernel": [10, 3], "num_feat_extract_layers": 2,
         "num_conv_pos_embeddings": 8, "num_conv_pos_embedding_groups": 4}


class First(nn.Module):
    """The first output of a model of transformers, by named inputs."""

    def __init__(self, model, *names):
        super().__init__()
        self.model = model
        self.names = names

    def forward(self, *given):
        made = self.model(**dict(zip(self.names, given)), return_dict=True)
        return next(iter(made.values()))


def ids(batch=2, tokens=6):
    return torch.randint(3, 90, (batch, tokens))


def text(model, *more):
    """A model that takes ids, a mask, and other inputs derived from ids."""
    mask = torch.ones(2, 6, dtype=torch.int64)
    mask[1, 4:] = 0
    names = ["input_ids", "attention_mask", *more]
    inputs = (ids(), mask, *(torch.zeros(2, 6, dtype=torch.int64) for _ in more))
    axes = {name: {0: "batch", 1: "tokens"} for name in names}
    return First(model, *names), inputs, axes, TOKENS


def image(model, size=32, name="pixel_values"):
    """A model that takes square images of one size."""
    wrapped = First(model, name) if isinstance(model, tf.PreTrainedModel) else model
    return wrapped, (torch.randn(2, 3, size, size),), {name: {0: "batch"}}, BATCHES


def images(model, name="pixel_values", channels=3):
    """A model that takes images of any size."""
    wrapped = First(model, name) if isinstance(model, tf.PreTrainedModel) else model
    axes = {name: {0: "batch", 2: "height", 3: "width"}}
    return wrapped, (torch.randn(2, channels, 64, 32),), axes, IMAGES


def sound(model, name="input_values"):
    """A model that takes audio of any length."""
    wrapped = First(model, name) if isinstance(model, tf.PreTrainedModel) else model
    return wrapped, (torch.randn(2, 640),), {name: {0: "batch", 1: "samples"}}, SOUNDS


class Unet(nn.Module):
    """Downsamples by strides, upsamples by transposed convolutions and resizing, with skip connections."""

    def __init__(self):
        super().__init__()
        self.one = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.LeakyReLU(0.1))
        self.two = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, padding=1), nn.InstanceNorm2d(16, affine=True),
                                 nn.SiLU())
        self.three = nn.Sequential(nn.AvgPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.GroupNorm(4, 32), nn.Mish())
        self.up = nn.ConvTranspose2d(32, 16, 2, stride=2)
        self.mix = nn.Sequential(nn.Conv2d(32, 8, 1), nn.PReLU(8))
        self.last = nn.Sequential(nn.Conv2d(16, 3, 3, padding=1, padding_mode="reflect"), nn.Hardtanh())

    def forward(self, x):
        one = self.one(x)
        two = self.two(one)
        up = torch.cat([self.up(self.three(two)), two], 1)
        wide = nn.functional.interpolate(self.mix(up), scale_factor=2, mode="bilinear", align_corners=False)
        return self.last(torch.cat([wide, one], 1))


def conv(inner, outer, kernel=1, stride=1):
    return nn.Sequential(nn.Conv2d(inner, outer, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(outer),
                         nn.SiLU())


class Detector(nn.Module):
    """The parts of YOLO: SPPF, nearest upsampling, and heads whose boxes are decoded by a softmax."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(conv(3, 8, 3, 2), conv(8, 16, 3, 2))
        self.deep = nn.Sequential(conv(16, 32, 3, 2), conv(32, 16))
        self.pool = nn.MaxPool2d(5, 1, 2)
        self.mix = conv(64, 16)
        self.up = nn.Upsample(scale_factor=2, mode="nearest")
        self.head = nn.Conv2d(32, 4 * 8 + 5, 1)

    def forward(self, x):
        stem = self.stem(x)
        parts = [self.deep(stem)]
        for _ in range(3):
            parts.append(self.pool(parts[-1]))
        both = torch.cat([self.up(self.mix(torch.cat(parts, 1))), stem], 1)
        made = self.head(both).flatten(2)
        boxes, classes = made.split((32, 5), 1)
        boxes = boxes.view(boxes.shape[0], 4, 8, -1).transpose(2, 1).softmax(1)
        steps = (boxes * torch.arange(8.0).view(1, 8, 1, 1)).sum(1)
        return torch.cat([steps, classes.sigmoid()], 1)


class SuperResolution(nn.Module):
    """Sub-pixel convolution (ESPCN)."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 16, 5, padding=2), nn.Tanh(), nn.Conv2d(16, 9, 3, padding=1),
                                  nn.PixelShuffle(3))

    def forward(self, x):
        return self.body(x)


class Voice(nn.Module):
    """A spectrum by convolution, an LSTM and a GRU, and a score, as in voice activity detectors."""

    def __init__(self):
        super().__init__()
        self.spectrum = nn.Conv1d(1, 24, 64, stride=32)
        self.lstm = nn.LSTM(12, 16, batch_first=True, bidirectional=True)
        self.gru = nn.GRU(32, 8, batch_first=True)
        self.score = nn.Linear(8, 1)

    def forward(self, x):
        both = self.spectrum(x.unsqueeze(1))
        size = torch.sqrt(both[:, :12] ** 2 + both[:, 12:] ** 2 + 1e-6)
        made, _ = self.lstm(torch.log(size).transpose(1, 2))
        made, _ = self.gru(made)
        return torch.sigmoid(self.score(made))


def texts():
    words = {key: size for key, size in TEXT.items() if key in ("vocab_size", "max_position_embeddings")}
    short = {**words, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48}
    buckets = {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_buckets": 8,
               "max_relative_positions": 32, "norm_rel_ebd": "layer_norm", "share_att_key": True,
               "position_biased_input": False}
    windows = {"global_attn_every_n_layers": 2, "local_attention": 4, "pad_token_id": 0, "bos_token_id": 1,
               "eos_token_id": 2, "cls_token_id": 1, "sep_token_id": 2}
    return {
        "bert": lambda: text(tf.BertModel(tf.BertConfig(**TEXT)), "token_type_ids"),
        "distilbert": lambda: text(tf.DistilBertModel(tf.DistilBertConfig(**short))),
        "albert": lambda: text(tf.AlbertModel(tf.AlbertConfig(**TEXT, embedding_size=16))),
        "electra": lambda: text(tf.ElectraModel(tf.ElectraConfig(**TEXT, embedding_size=16))),
        "mpnet": lambda: text(tf.MPNetModel(tf.MPNetConfig(**TEXT))),
        "xlm-roberta": lambda: text(tf.XLMRobertaForSequenceClassification(tf.XLMRobertaConfig(**TEXT, num_labels=3))),
        "deberta": lambda: text(tf.DebertaV2Model(tf.DebertaV2Config(**TEXT, **buckets))),
        "modernbert": lambda: text(tf.ModernBertModel(tf.ModernBertConfig(**TEXT, **windows))),
        "t5": lambda: text(tf.T5EncoderModel(tf.T5Config(**T5))),
        "mt5": lambda: text(tf.T5EncoderModel(tf.T5Config(**T5, feed_forward_proj="gated-gelu"))),
        "clip-text": lambda: text(tf.CLIPTextModel(tf.CLIPTextConfig(**TEXT, eos_token_id=2))),
        "squeezebert": lambda: text(tf.SqueezeBertModel(tf.SqueezeBertConfig(**TEXT, embedding_size=32))),
    }


def towers():
    dino = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "image_size": 32, "patch_size": 8}
    parts = {"num_encoder_blocks": 2, "depths": [1, 1], "sr_ratios": [2, 1], "hidden_sizes": [16, 32],
             "patch_sizes": [7, 3], "strides": [4, 2], "num_attention_heads": [1, 2], "mlp_ratios": [2, 2],
             "decoder_hidden_size": 16, "num_labels": 4}
    mobile = {"image_size": 64, "hidden_sizes": [16, 24, 32], "neck_hidden_sizes": [8, 8, 16, 16, 24, 32, 40]}
    depth = {"backbone_out_indices": [0, 1, 2, 3], "neck_hidden_sizes": [8, 8, 16, 16], "fusion_hidden_size": 16,
             "is_hybrid": False}
    torch_swin = models.swin_transformer.SwinTransformer
    return {
        "vit": lambda: image(tf.ViTModel(tf.ViTConfig(**SIGHT))),
        "deit": lambda: image(tf.DeiTForImageClassification(tf.DeiTConfig(**SIGHT, num_labels=5))),
        "beit": lambda: image(tf.BeitModel(tf.BeitConfig(**SIGHT, use_relative_position_bias=True))),
        "dinov2": lambda: image(tf.Dinov2Model(tf.Dinov2Config(**dino))),
        "clip-vision": lambda: image(tf.CLIPVisionModel(tf.CLIPVisionConfig(**SIGHT))),
        "siglip": lambda: image(tf.SiglipVisionModel(tf.SiglipVisionConfig(**SIGHT))),
        "swin": lambda: image(tf.SwinForImageClassification(tf.SwinConfig(**SWIN, num_labels=5))),
        "swin-v2": lambda: image(tf.Swinv2Model(tf.Swinv2Config(**SWIN))),
        "swin-torchvision": lambda: image(torch_swin([2, 2], 16, [2, 2], [2, 4], [4, 4], num_classes=5)),
        "mobilevit": lambda: image(tf.MobileViTModel(tf.MobileViTConfig(**mobile)), 64),
        "segformer": lambda: image(tf.SegformerForSemanticSegmentation(tf.SegformerConfig(**parts))),
        "depth": lambda: image(tf.DPTForDepthEstimation(tf.DPTConfig(**{**SIGHT, "num_hidden_layers": 4}, **depth))),
    }


def nets():
    small = {"hidden_sizes": [8, 16], "depths": [2, 2], "num_stages": 2}
    large = {"hidden_sizes": [16, 32], "depths": [1, 1], "num_labels": 5}
    groups = {"embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 1], "groups_width": 4}
    return {
        "convnext": lambda: images(tf.ConvNextForImageClassification(tf.ConvNextConfig(**small, num_labels=5))),
        "convnext-v2": lambda: images(tf.ConvNextV2Model(tf.ConvNextV2Config(**small))),
        "resnet": lambda: images(tf.ResNetForImageClassification(tf.ResNetConfig(embedding_size=8, **large))),
        "mobilenet-v1": lambda: images(tf.MobileNetV1Model(tf.MobileNetV1Config(depth_multiplier=0.25))),
        "mobilenet-v2": lambda: images(models.MobileNetV2(num_classes=5, width_mult=0.1)),
        "mobilenet-v3": lambda: images(mobilenetv3.MobileNetV3(
            mobilenetv3._mobilenet_v3_conf("mobilenet_v3_small", width_mult=0.1)[0], 16, num_classes=5)),
        "efficientnet": lambda: images(models.efficientnet_b0(num_classes=5)),
        "squeezenet": lambda: images(models.SqueezeNet("1_1", num_classes=5)),
        "shufflenet": lambda: images(models.ShuffleNetV2([1, 1, 1], [8, 16, 32, 64, 32], num_classes=5)),
        "densenet": lambda: images(models.DenseNet(4, (2, 2), 8, num_classes=5)),
        "regnet": lambda: images(tf.RegNetModel(tf.RegNetConfig(**groups))),
        "unet": lambda: images(Unet()),
        "detector": lambda: images(Detector()),
        "super-resolution": lambda: images(SuperResolution(), channels=1),
    }


def sounds():
    whisper = {"vocab_size": 97, "d_model": 32, "encoder_layers": 2, "decoder_layers": 1, "encoder_attention_heads": 4,
               "decoder_attention_heads": 4, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "num_mel_bins": 8,
               "max_source_positions": 50, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
               "decoder_start_token_id": 1}
    layered = {"feat_extract_norm": "layer", "do_stable_layer_norm": True}

    def encoder():
        model = First(tf.WhisperModel(tf.WhisperConfig(**whisper)).get_encoder(), "input_features")
        return model, (torch.randn(2, 8, 100),), {"input_features": {0: "batch"}}, BATCHES

    return {
        "voice": lambda: sound(Voice(), "samples"),
        "whisper": encoder,
        "wav2vec2": lambda: sound(tf.Wav2Vec2Model(tf.Wav2Vec2Config(**SOUND))),
        "hubert": lambda: sound(tf.HubertModel(tf.HubertConfig(**SOUND, **layered))),
    }


def networks():
    """Functions by name, each returning the module, its inputs, the open axes by input, and sizes."""
    return {**texts(), **towers(), **nets(), **sounds(), **DECODERS}
