"""Data sets of multiple choice in, lines for compress.folder out: the question, with the right choice as its answer.

    python3 -m compress.choices arc=ARC-Easy-Dev.jsonl arc=ARC-Challenge-Dev.jsonl piqa=valid.jsonl,labels.lst@919 --to TEXT.jsonl

A file of PIQA may have its labels beside it, one a line. @919 leaves out the first 919 items, so that a model may be scored
on them. The form is that of lm-evaluation-harness and of `halfbyte eval`. Every item gives one line, and --seed shuffles
them. Train only on what no score is taken of.
"""
import argparse
import json
import random
import re
from pathlib import Path


def piqa(value):
    """The question, the choices, and which is right."""
    return f'Question: {value["goal"]}\nAnswer:', [value['sol1'], value['sol2']], value['label']


def arc(value):
    """The same, of AI2's form (question.stem) or the hub's (choices.text and choices.label)."""
    asked = value['question']
    if isinstance(asked, str):
        texts, labels = value['choices']['text'], value['choices']['label']
    else:
        texts, labels = ([each[key] for each in asked['choices']] for key in ('text', 'label'))
        asked = asked['stem']
    return f'Question: {asked}\nAnswer:', texts, labels.index(value['answerKey'])


def hellaswag(value):
    """The same, with the marks of WikiHow's pages removed."""
    def cleaned(text):
        return re.sub(r'\[.*?\]', '', text.strip().replace(' [title]', '. ')).replace('  ', ' ')
    context = f'{value["activity_label"]}: {value["ctx_a"]} {value["ctx_b"].capitalize()}'
    return cleaned(context), [cleaned(each) for each in value['endings']], value['label']


FORMS = {'piqa': piqa, 'arc': arc, 'hellaswag': hellaswag}


def lines_of(form, path, labels=None, first=0):
    """The lines of a data set. Raises ValueError for an item of another form, and for labels of another number."""
    values = [json.loads(line) for line in Path(path).read_text(encoding='utf-8').splitlines() if line.strip()]
    right = labels and Path(labels).read_text(encoding='utf-8').split()
    if right and len(right) != len(values):
        raise ValueError(f'{labels} has {len(right)} labels and {path} {len(values)} items; give the labels of this file')
    if first >= len(values):
        raise ValueError(f'{path} has {len(values)} items, so none is left after {first}; give a smaller number after @')
    found = []
    for number, value in enumerate(values[first:], first + 1):
        if right:
            value['label'] = right[number - 1]
        try:
            asked, choices, label = FORMS[form](value)
            answer = ' ' + dict(enumerate(choices))[int(label)]
        except (KeyError, TypeError, ValueError, IndexError) as cause:
            raise ValueError(f'item {number} of {path} is not of the form {form}: {cause!r}') from cause
        found.append({'text': asked + answer, 'answer': answer})
    return found


def read(given):
    """The lines of FORM=FILE, FORM=FILE,LABELS, or either with @FIRST after it. Raises ValueError for another."""
    parts = re.fullmatch(r'(\w+)=([^,@]+)(?:,([^,@]+))?(?:@(\d+))?', given)
    if parts is None or parts[1] not in FORMS:
        raise ValueError(f'{given} is none of {", ".join(f"{form}=FILE" for form in FORMS)}, with ,LABELS or @FIRST after it')
    form, path, labels, first = parts.groups()
    return lines_of(form, path, labels, int(first or 0))


def main(given=None):
    """Writes the lines of all data sets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('sets', nargs='+', metavar='FORM=FILE[,LABELS][@FIRST]', help=f'forms: {", ".join(FORMS)}')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--to', type=Path, required=True)
    args = parser.parse_args(given)
    lines = [line for each in args.sets for line in read(each)]
    random.Random(args.seed).shuffle(lines)
    args.to.parent.mkdir(parents=True, exist_ok=True)
    args.to.write_text(''.join(json.dumps(line, ensure_ascii=False) + '\n' for line in lines), encoding='utf-8')
    print(f'{args.to}: {len(lines)} answers')


if __name__ == '__main__':
    main()
