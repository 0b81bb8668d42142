"""Self check of training Hugging Face's folders, on tiny random models: `python3 -m unittest discover` in lab/train/."""
import contextlib
import io
import json
import re
import unittest
from pathlib import Path
from unittest import mock

try:
    import peft
    import transformers
except ImportError:
    peft = None
import torch

from compress.grids import quantise_w4, stored
from compress.layout import MODULES
from compress.test_answers import InFolder

SHAPE = dict(vocab_size=128, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=2,
             num_key_value_heads=1, head_dim=32, max_position_embeddings=256, tie_word_embeddings=True)
GGUF = Path(__file__).parent / '../inputs/stories15M-f16.gguf'
TEMPLATE = "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}{{ eos_token }}{% endfor %}"
FAMILIES = {
    'LlamaForCausalLM': ('LlamaConfig', SHAPE),
    'Qwen2ForCausalLM': ('Qwen2Config', SHAPE),
    'Qwen3ForCausalLM': ('Qwen3Config', SHAPE),
    'SmolLM3ForCausalLM': ('SmolLM3Config', SHAPE),
    'Gemma3ForCausalLM': ('Gemma3TextConfig', SHAPE),
    'MambaForCausalLM': ('MambaConfig', dict(vocab_size=128, hidden_size=64, num_hidden_layers=2, state_size=8)),
}


def write_model(folder, family):
    """A seeded random model with a tokenizer of single letters, as a folder of transformers."""
    torch.manual_seed(3)
    name, shape = FAMILIES[family]
    marks = ['<unk>', '</s>', '<bos>']
    config = getattr(transformers, name)(**shape, eos_token_id=1, bos_token_id=2, pad_token_id=1)
    getattr(transformers, family)(config).float().save_pretrained(folder)
    from tokenizers import Tokenizer, models, pre_tokenizers
    letters = [chr(code) for code in range(32, 127)]
    known = {piece: i for i, piece in enumerate([*marks, *letters])}
    tokenizer = Tokenizer(models.WordLevel(known, unk_token='<unk>'))
    tokenizer.pre_tokenizer = pre_tokenizers.Split('', 'isolated')
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token='<unk>', eos_token='</s>', bos_token='<bos>')
    fast.chat_template = TEMPLATE
    fast.save_pretrained(folder)


def write_text(path):
    """Texts and chats that repeat, so that a few steps learn something."""
    lines = [{'text': 'the cat sat on the mat. ' * 20}, {'messages': [{'role': 'user', 'content': 'hello there'}] * 8}] * 30
    path.write_text('\n'.join(map(json.dumps, lines)), encoding='utf-8')


class WithTexts(InFolder):
    """A folder with texts to train on, `root`, and transformers without messages."""

    @classmethod
    def setUpClass(cls):
        transformers.logging.set_verbosity_error()
        transformers.logging.disable_progress_bar()

    def setUp(self):
        super().setUp()
        write_text(self.root / 'text.jsonl')


@unittest.skipIf(peft is None, 'transformers and peft are not installed')
class FolderTest(WithTexts):
    """compress.folder on each family."""

    def train(self, family, to, *more):
        """Runs the command; returns the folder that it wrote."""
        from compress import folder
        if not (self.root / family).exists():
            write_model(self.root / family, family)
        folder.main(['--model', str(self.root / family), '--text', str(self.root / 'text.jsonl'), '--length', '32', '--batch', '2',
                     '--windows', '60', '--to', str(self.root / to), *more])
        return self.root / to

    def test_each_family_ends_on_its_grid(self):
        from compress.folder import Logits, matrices_of, open_folder
        for family in FAMILIES:
            with self.subTest(family):
                to = self.train(family, f'{family}-qat', '--steps', '4', '--rate', '1e-3')
                _, model = open_folder(to)
                self.assertEqual(len(matrices_of(model)), 4 if family == 'MambaForCausalLM' else 14)
                for name, layer in matrices_of(model).items():
                    value = layer.weight.detach()
                    self.assertLess(float((quantise_w4(value) - value).abs().max()), 1e-6, name)
                self.assertEqual(Logits(model)(torch.tensor([[3, 4]])).shape, (1, 2, 128))

    def test_adapters_have_pefts_form_and_help(self):
        from compress.folder import Logits, held_loss, open_folder
        from compress.text import HELD, windows_of
        for family in ('LlamaForCausalLM', 'Qwen3ForCausalLM', 'Gemma3ForCausalLM'):
            with self.subTest(family):
                to = self.train(family, f'{family}-lora', '--lora', '4', '--steps', '20', '--rate', '1e-2')
                config = json.loads((to / 'adapter_config.json').read_text(encoding='utf-8'))
                self.assertEqual((config['peft_type'], config['r'], config['lora_alpha']), ('LORA', 4, 8))
                tokenizer, model = open_folder(self.root / family)
                held = windows_of(self.root / 'text.jsonl', tokenizer, 32, 60)[-HELD:]
                before = held_loss(Logits(model), held)
                adapted = peft.PeftModel.from_pretrained(model, to)
                self.assertLess(held_loss(Logits(adapted), held), before - 0.3)

    def test_answers_are_learned_and_a_merged_model_is_whole(self):
        from compress.folder import Logits, held_loss, open_folder
        from compress.text import HELD_ANSWERS, windows_of
        lines = [{'text': f'what is {i}? it is a number', 'answer': ' it is a number'} for i in range(160)]
        (self.root / 'text.jsonl').write_text('\n'.join(map(json.dumps, lines)), encoding='utf-8')
        more = ['--lora', '4', '--steps', '24', '--rate', '1e-2', '--windows', '160']
        to, adapter = self.train('LlamaForCausalLM', 'merged', '--merge', *more), self.train('LlamaForCausalLM', 'adapter', *more)
        self.assertFalse((to / 'adapter_config.json').exists())
        tokenizer, model = open_folder(self.root / 'LlamaForCausalLM')
        held = windows_of(self.root / 'text.jsonl', tokenizer, 32, 160)[-HELD_ANSWERS:]
        self.assertEqual(int((held[0] >= 0).sum()), len(' it is a number') + 1)
        before = held_loss(Logits(model), held)
        _, merged = open_folder(to)
        self.assertLess(held_loss(Logits(merged), held), before - 0.5)
        adapted = peft.PeftModel.from_pretrained(model, adapter)
        self.assertAlmostEqual(held_loss(Logits(adapted), held), held_loss(Logits(merged), held), places=4)

    @unittest.skipUnless(GGUF.exists(), 'lab/train/inputs has no stories15M-f16.gguf (lab/train/README.md says where it is from)')
    def test_a_gguf_files_weights_are_floats_that_a_folder_holds(self):
        from compress import folder
        tokenizer, model = folder.open_folder(GGUF)
        to = self.root / 'whole'
        tokenizer.save_pretrained(to)
        model.save_pretrained(to)
        read, again = folder.open_folder(to)
        ids = torch.tensor([tokenizer('Once upon a time')['input_ids']])
        self.assertEqual(read('Once upon a time')['input_ids'], ids[0].tolist())
        self.assertTrue(torch.equal(folder.Logits(again)(ids), folder.Logits(model)(ids)))

    def test_merging_without_an_adapter_is_refused(self):
        with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()) as said:
            self.train('LlamaForCausalLM', 'merged', '--merge')
        self.assertIn('--merge is for an adapter; give --lora', said.getvalue())

    def test_scales_of_a_packs_codes_learn_from_the_folder_they_are_of(self):
        from compress import codes
        from compress.folder import open_folder
        from weights import read_safetensors, write_safetensors
        for family, gains in (('LlamaForCausalLM', 5), ('Qwen3ForCausalLM', 5), ('Gemma3ForCausalLM', 0)):
            with self.subTest(family):
                write_model(self.root / family, family)
                _, model = open_folder(self.root / family)
                pack = {}
                for name, parameter in model.named_parameters():
                    part = next((theirs for ours, theirs in MODULES.items() if name.endswith(f'{ours}.weight')), None)
                    if part is not None:
                        rows = parameter.detach()
                        scales = stored(torch.stack([each.abs().amax(1) for each in rows.split(32, 1)], 1) / 7)
                        at = f'layers.{name.split(".layers.")[1].split(".")[0]}.{part}.weight'
                        pack[f'{at}.codes'] = (rows / scales.repeat_interleave(32, 1)).round().clamp(-8, 7) + 8
                        pack[f'{at}.scales'] = scales
                write_safetensors(self.root / 'codes.safetensors', pack)
                with contextlib.redirect_stdout(io.StringIO()) as said, mock.patch('sys.argv', [
                        'codes', '--model', str(self.root / family), '--codes', str(self.root / 'codes.safetensors'), '--text',
                        str(self.root / 'text.jsonl'), '--length', '32', '--windows', '60', '--steps', '15', '--rate', '0',
                        '--scale-rate', '0.01', '--to', str(self.root / 'trained.safetensors')]):
                    codes.main()
                before, after = map(float, re.findall(r'([\d.]+) from the float model', said.getvalue()))
                self.assertLess(after, before)
                trained = read_safetensors(self.root / 'trained.safetensors')
                self.assertEqual(len(trained), len(pack) + gains)
                for name, value in pack.items():
                    self.assertEqual(torch.equal(trained[name], value), name.endswith('.codes'), name)

    def test_a_run_that_was_stopped_ends_as_one_that_was_not(self):
        from compress import folder
        for more in (['--format', 'w4m'], ['--lora', '4']):
            with self.subTest(more[0]):
                whole = self.train('LlamaForCausalLM', 'whole', '--steps', '6', '--save-every', '2', *more)
                with self.assertRaises(KeyboardInterrupt):
                    self.stopped(folder, 5, '--steps', '6', '--save-every', '2', *more)
                self.assertTrue((self.root / 'parts' / folder.CHECKPOINT).exists())
                parts = self.train('LlamaForCausalLM', 'parts', '--steps', '6', '--save-every', '2', '--resume', *more)
                names = sorted(path.name for path in whole.glob('*.safetensors'))
                self.assertEqual([(whole / name).read_bytes() == (parts / name).read_bytes() for name in names], [True] * len(names))
                self.assertFalse((parts / folder.CHECKPOINT).exists())

    def test_a_run_that_was_stopped_is_finished_with_what_it_has_learned(self):
        from compress import folder
        lora = ['--lora', '4', '--steps', '6']
        with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()) as said:
            self.train('LlamaForCausalLM', 'parts', *lora, '--resume', '--finish')
        self.assertRegex(said.getvalue(), r'--finish writes the model of .*parts.checkpoint\.pt')
        with self.assertRaises(KeyboardInterrupt):
            self.stopped(folder, 5, '--save-every', '2', *lora)
        state = torch.load(self.root / 'parts' / folder.CHECKPOINT)
        self.train('LlamaForCausalLM', 'parts', *lora, '--resume', '--finish')
        written = peft.load_peft_weights(self.root / 'parts')
        self.assertEqual((state['step'], len(state['learning'])), (4, len(written)))
        self.assertEqual(sorted(float(value.sum()) for value in written.values()), sorted(float(value.sum()) for value in state['learning']))

    def stopped(self, folder, at, *more):
        """The same command, interrupted at a step."""
        steps = folder.Run.steps

        def until(run, checkpoint):
            for step, loss in steps(run, checkpoint):
                if step == at:
                    raise KeyboardInterrupt
                yield step, loss
        folder.Run.steps = until
        try:
            self.train('LlamaForCausalLM', 'parts', *more)
        finally:
            folder.Run.steps = steps

    def test_another_text_is_not_gone_on_with(self):
        from compress import folder
        with self.assertRaises(KeyboardInterrupt):
            self.stopped(folder, 3, '--steps', '6', '--save-every', '2')
        with self.assertRaisesRegex(ValueError, 'another model, text or options'):
            self.train('LlamaForCausalLM', 'parts', '--steps', '7', '--save-every', '2', '--resume')

    def test_too_short_a_text_is_refused_with_what_it_takes(self):
        (self.root / 'text.jsonl').write_text('{"text": "short"}', encoding='utf-8')
        with self.assertRaisesRegex(ValueError, 'has 6 tokens and 17 windows take 561'):
            self.train('LlamaForCausalLM', 'short', '--steps', '1')


if __name__ == '__main__':
    unittest.main()
