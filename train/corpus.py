"""Source texts in, clean English out: chapters (lists of paragraphs) and dialogues (lists of turns)."""
import json
import re
from pathlib import Path

SKIP_BOOKS = {
    # dialect and period slurs; verse, plays and prose too hard for two million parameters; a duplicate
    'Adventures-of-Huckleberry-Finn_76', 'The-Adventures-of-Tom-Sawyer_74', 'milton-paradise',
    'whitman-leaves', 'shakespeare-caesar', 'shakespeare-hamlet', 'shakespeare-macbeth', 'blake-poems',
    'melville-moby_dick', 'austen-emma', 'austen-persuasion', 'austen-sense', 'chesterton-ball', 'chesterton-brown',
    'chesterton-thursday', 'carroll-alice',
}
PLAIN_BOOKS = {'Pride-and-Prejudice_1342', 'The-Time-Machine_35', 'The-Adventures-of-Sherlock-Holmes_1661',
               'Treasure-Island_120', 'edgeworth-parents'}
SIMPLE_BOOKS = {
    'Grimms-Fairy-Tales_2591', 'The-Blue-Fairy-Book_503', 'The-Red-Fairy-Book_540', 'bryant-stories',
    'The-Yellow-Fairy-Book_640', 'The-Violet-Fairy-Book_641', 'English-Fairy-Tales_7439',
    'Andersen-s-Fairy-Tales_1597', 'The-Wonderful-Wizard-of-Oz_55', 'The-Marvelous-Land-of-Oz_54',
    'The-Adventures-of-Pinocchio_500',
}
HELD_OUT_BOOKS = {'Ozma-of-Oz_486', 'burgess-busterbrown'}
ASCII = str.maketrans({
    '‘': "'", '’': "'", '“': '"', '”': '"', '–': '-', '…': '...', '\u00a0': ' ', 'æ': 'ae', 'é': 'e',
    'è': 'e', 'ê': 'e', 'ö': 'o', 'ü': 'u', 'ä': 'a', 'ï': 'i', 'ç': 'c', '\ufeff': '',
})
UNKIND = re.compile(
    r'\b(nigg|negro|darkie|savages?\b|jews?\b|gips|gyps|squaw|rape|suicide|whore|bitch|damn|sex)', re.I)
BOILERPLATE = re.compile(r'gutenberg|ebook|e-text|copyright|license|transcrib|illustrat|footnote', re.I)
SENTENCE_END = re.compile(r'[.!?]["\')]*$')
PARAGRAPH_END = re.compile(r'[.!?:;,-]["\')]*$')


def clean(text):
    """One line of plain ASCII punctuation from wrapped, typographic text; what is left over is dropped."""
    text = text.translate(ASCII).replace('—', ' - ').replace('--', ' - ').replace('_', '').replace('*', '')
    text = text.encode('ascii', 'ignore').decode()
    text = re.sub(r'\s+', ' ', re.sub(r'\[[^\]]*\]|\{[^}]*\}', '', text)).strip()
    text = re.sub(r"(^|[\s(\"])'(?=[A-Z])(.*?[.,!?])'(?=\s|$|-)", r'\1"\2"', text)
    return re.sub(r' +([,.;:!?])', r'\1', text)


def is_prose(paragraph):
    """Whether a cleaned paragraph reads as sentences, not as a heading, a table, verse or boilerplate."""
    letters = sum(c.isalpha() for c in paragraph)
    if letters < 12 or letters < 0.7 * len(paragraph) or not PARAGRAPH_END.search(paragraph):
        return False
    capitals = sum(c.isupper() for c in paragraph)
    return capitals < 0.25 * letters and not BOILERPLATE.search(paragraph) and not UNKIND.search(paragraph)


def chapters_of(text):
    """Chapters of a Gutenberg book: runs of prose paragraphs between headings or wide gaps, five at least."""
    chapters, current = [], []
    for block in re.split(r'(\n\s*\n\s*\n\s*\n+)|\n\s*\n', text.replace('\r', '')):
        if block is None or not block.strip():
            if block and len(current) >= 5:
                chapters.append(current)
            current = current if not block else []
            continue
        lines = block.split('\n')
        verse = len(lines) > 2 and sum(line.startswith('   ') for line in lines) > 0.6 * len(lines)
        paragraph = clean(block)
        if is_prose(paragraph) and not verse:
            current.append(paragraph)
        elif len(paragraph) < 80 and len(current) >= 5 and not SENTENCE_END.search(paragraph):
            chapters.append(current)
            current = []
    return chapters + ([current] if len(current) >= 5 else [])


def read_books(root):
    """Book name to chapters, for the Gutenberg and NLTK folders."""
    books = {}
    for path in sorted([*root.glob('gutenberg-children/*.txt'), *root.glob('nltk-gutenberg/*.txt')]):
        if path.stem not in SKIP_BOOKS:
            books[path.stem] = chapters_of(path.read_text(encoding='utf-8', errors='replace'))
    return books


def read_storybook(root):
    """African Storybook: (title, paragraphs) of each story, credits left out."""
    stories = []
    for path in sorted(root.glob('african-storybook/*.md')):
        pages = path.read_text(encoding='utf-8').split('\n##')
        title = clean(pages[0].lstrip('# '))
        paragraphs = [clean(page) for page in pages[1:] if 'License:' not in page]
        paragraphs = [p for p in paragraphs if len(p) > 8]
        if sum(len(p.split()) for p in paragraphs) >= 40 and not any(UNKIND.search(p) for p in paragraphs):
            stories.append((title, paragraphs))
    return stories


def read_sgd(root):
    """Schema-Guided Dialogue: (id, turns) with alternating user and assistant turns, from all three files."""
    dialogues = []
    for part in ('train', 'dev', 'test'):
        with open(root / 'sgd-dialogues' / f'{part}.jsonl', encoding='utf-8') as file:
            for line in file:
                item = json.loads(line)
                turns = [(m['role'], clean(m['content'])) for m in item['messages']]
                while turns and turns[-1][0] != 'assistant':
                    turns.pop()
                if len(turns) >= 2 and turns[0][0] == 'user':
                    dialogues.append((f'{part}/{item["id"]}', turns))
    return dialogues


def sentence(text):
    """A turn with a capital first and a full stop last where it had neither."""
    text = clean(text)
    text = text[:1].upper() + text[1:]
    return text if SENTENCE_END.search(text) else text + '.'


def read_chatterbot(root):
    """The chat corpus as turns; only its conversations run on, elsewhere later lines are other answers."""
    dialogues = []
    for path in sorted(root.glob('chatterbot/*.yml')):
        if path.stem in {'politics', 'coding', 'tech_support', 'history', 'ai', 'gossip'}:
            continue
        groups = re.split(r'^- - ', path.read_text(encoding='utf-8'), flags=re.M)[1:]
        for group in groups:
            lines = [sentence(x.strip().strip('\'"')) for x in re.split(r'\n\s+- ', group)]
            lines = [x for x in lines if len(x) > 1]
            if any(UNKIND.search(x) for x in lines) or len(lines) < 2 or sum(map(len, lines)) > 900:
                continue
            if path.stem in {'conversations', 'greetings'}:
                lines = lines[:len(lines) // 2 * 2]
                dialogues.append([(('user', 'assistant')[i % 2], x) for i, x in enumerate(lines)])
            else:
                dialogues += [[('user', lines[0]), ('assistant', answer)] for answer in lines[1:]]
    return dialogues


if __name__ == '__main__':
    import sys
    ROOT = Path(sys.argv[1])
    BOOKS = read_books(ROOT)
    for name, chapters in BOOKS.items():
        print(name, len(chapters), sum(len(p) for c in chapters for p in c))
        print('   ', chapters[len(chapters) // 2][0][:150])
    for found in (read_storybook(ROOT), read_sgd(ROOT), read_chatterbot(ROOT)):
        print(len(found), found[7])
