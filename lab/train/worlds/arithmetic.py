"""Expressions and their values. In: a random source. Out: a sum as people phrase it, its expression, and its value as the
page writes it."""
import re

ONES = 'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'.split()
TENS = 'twenty thirty forty fifty sixty seventy eighty ninety'.split()
SIGNS = {'+': ['plus', 'plus', '+', '+', 'and'], '-': ['minus', 'minus', '-', '-', 'take away'],
         '*': ['times', 'times', '*', '*', 'x', 'multiplied by', '×'], '/': ['divided by', 'divided by', '/', '/', '÷']}


def spoken(n):
    """A whole number below 10,000 in words."""
    if n < 20:
        return ONES[n]
    if n < 100:
        return TENS[n // 10 - 2] + (f'-{ONES[n % 10]}' if n % 10 else '')
    if n < 1000:
        return f'{ONES[n // 100]} hundred' + (f' and {spoken(n % 100)}' if n % 100 else '')
    return f'{spoken(n // 1000)} thousand' + (f' {spoken(n % 1000)}' if n % 1000 else '')


def plain(number):
    """A number with at most ten significant digits, without trailing zeros."""
    if not isinstance(number, float):
        return str(number)
    text = f'{float(f"{number:.10g}"):.10f}'.rstrip('0').rstrip('.')
    return '0' if text == '-0' else text


def value_of(expression):
    """The value of an expression of numbers, signs, brackets, `%` and `^`, as text."""
    if not re.fullmatch(r'[\d.\s+\-*/^%()]+', expression):
        raise ValueError(f'"{expression}" is not an arithmetic expression; use numbers, signs and brackets only')
    python = re.sub(r'([\d.]+)%', r'(\1/100)', expression).replace('^', '**')
    value = eval(python, {'__builtins__': {}})  # noqa: S307, only figures and signs
    return plain(float(value))


def number(rng):
    """A number of one to four digits; one in seven has decimals."""
    whole = rng.choice([rng.randint(2, 20), rng.randint(2, 20), rng.randint(10, 99), rng.randint(10, 99), rng.randint(100, 999),
                        rng.randint(1000, 9999)])
    roll = rng.random()
    if roll < 0.08:
        return f'{whole % 200}.{rng.randint(1, 9)}'
    if roll < 0.15:
        return f'{whole % 100}.{rng.randint(11, 99)}'.rstrip('0')
    return str(whole)


def pair(rng):
    """A sign and two numbers that fit it: results are mostly not negative, and divisions have no remainder."""
    sign = rng.choice('+-*/')
    a, b = number(rng), number(rng)
    if sign == '*':
        b = str(rng.randint(2, 99)) if rng.random() < 0.8 else b
    if sign == '/':
        b = str(rng.randint(2, 50))
        a = str(int(b) * rng.randint(2, 99)) if rng.random() < 0.8 else a
    if sign == '-' and rng.random() < 0.9 and float(a) < float(b):
        a, b = b, a
    return a, sign, b


def written(rng, text):
    """A number as people write it: sometimes in words, with thousands separators, or with a decimal comma."""
    roll = rng.random()
    if text.isdigit():
        if int(text) < 100 and roll < 0.12:
            return spoken(int(text))
        return f'{int(text):,}' if int(text) > 999 and roll < 0.25 else text
    return text.replace('.', ',') if roll < 0.12 and not re.search(r'\.\d{3}$', text) else text


def said(rng, expression):
    """An expression as a person phrases it: its signs as words or symbols, consistently."""
    words = {sign: rng.choice(names) for sign, names in SIGNS.items()}
    if expression.count(' ') > 2:
        words = {sign: name if name != 'and' else 'plus' for sign, name in words.items()}
    close = rng.random() < 0.15 and not any(w.isalpha() and len(w) > 1 for w in words.values())
    parts = []
    for part in re.findall(r'[\d.]+%?|[-+*/^()]', expression):
        if part in words:
            parts.append(words[part] if close else f' {words[part]} ')
        elif part == '^':
            parts.append(rng.choice(['^', ' to the power of ', ' ^ ']))
        elif part in '()':
            parts.append(part)
        elif part.endswith('%'):
            parts.append(rng.choice([part, part[:-1] + ' %', part[:-1] + ' percent', part[:-1] + ' per cent']))
        else:
            parts.append(part if close else written(rng, part))
    return re.sub(r' +', ' ', ''.join(parts)).strip()
