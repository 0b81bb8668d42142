"""Dialogues with tools. In: a random source. Out: requests, Hermes calls, results and answers that repeat them."""
import json
from datetime import date, timedelta

from .say import careless, choose, message, talk
from .units import conversion

CALCULATE, DATE, CONVERT = [
    {'type': 'function', 'function': {'name': 'calculate', 'description': 'Works out an arithmetic expression.', 'parameters':
     {'type': 'object', 'properties': {'expression': {'type': 'string'}}, 'required': ['expression']}}},
    {'type': 'function', 'function': {'name': 'current_date', 'description': "Tells today's date and the time.", 'parameters':
     {'type': 'object', 'properties': {}}}},
    {'type': 'function', 'function': {'name': 'convert_units', 'description': 'Converts a value from one unit to another.',
     'parameters': {'type': 'object', 'properties': {'value': {'type': 'number'}, 'from': {'type': 'string'},
                                                     'to': {'type': 'string'}}, 'required': ['value', 'from', 'to']}}}]
ALL = [CALCULATE, DATE, CONVERT]
ONES = 'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'.split()
TENS = 'twenty thirty forty fifty sixty seventy eighty ninety'.split()
SIGNS = {'+': ['plus', 'plus', '+', 'and'], '-': ['minus', 'minus', '-', 'take away'],
         '*': ['times', 'times', '*', 'x', 'multiplied by'], '/': ['divided by', 'divided by', '/']}
ASK = ("What is X? | What is X? | What's X? | How much is X? | Can you work out X for me? | Please work out X. | Work out X. | "
       "Calculate X. | Can you calculate X? | Please calculate X for me. | I need X. | What does X make? | X = ? | X? | "
       "Do you know what X is? | Tell me what X is. | Could you tell me X? | How much does X make? | What do I get for X? | "
       "Compute X, please. | Hi, what is X?")


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
    """A number without needless zeros."""
    return f'{round(number, 4):f}'.rstrip('0').rstrip('.') if isinstance(number, float) else str(number)


def sum_of(rng, small=False):
    """Two operands, their sign and the result."""
    sign = rng.choice('+-*/')
    size = (lambda: rng.randint(0, 10)) if small else (lambda: rng.choice([rng.randint(2, 20), rng.randint(10, 99),
                                                                          rng.randint(100, 999), rng.randint(1000, 9999)]))
    a, b = size(), size()
    if small:
        sign = rng.choice('+-')
    if sign == '*':
        b = rng.randint(2, 99)
    if sign == '/':
        b = rng.randint(2, 50)
        a = b * rng.randint(2, 99) if rng.random() < 0.8 else rng.randint(2, 999)
    if sign == '-' and (small or rng.random() < 0.9):
        a, b = max(a, b), min(a, b)
    if not small and rng.random() < 0.12 and sign in '+-*':
        a = round(a + rng.randint(1, 9) / 10, 1)
    result = {'+': lambda: a + b, '-': lambda: a - b, '*': lambda: a * b, '/': lambda: a / b}[sign]()
    if isinstance(result, float):
        result = round(result, 4)
        result = int(result) if result == int(result) else result
    return a, sign, b, result


def sum_request(rng, a, sign, b):
    """How a person asks for it, and how the answer names it."""
    if rng.random() < 0.14 and isinstance(a, int) and a < 10000:
        said = f'{spoken(a)} {SIGNS[sign][0]} {spoken(b)}'
    else:
        said = f'{plain(a)} {rng.choice(SIGNS[sign])} {plain(b)}'
        if rng.random() < 0.1 and sign in '*/-+':
            said = f'{plain(a)}{sign}{plain(b)}'
    roll = rng.random()
    if roll < 0.06 and sign == '+':
        return f'Add {plain(a)} and {plain(b)}.'
    if roll < 0.06 and sign == '-':
        return f'Take {plain(b)} away from {plain(a)}.'
    if roll < 0.06 and sign == '*':
        return f'Multiply {plain(a)} by {plain(b)}.'
    if roll < 0.06:
        return f'Divide {plain(a)} by {plain(b)}.'
    if roll < 0.12 and isinstance(a, int) and isinstance(b, int):
        things = rng.choice(['apples', 'coins', 'books', 'shells', 'eggs', 'nuts', 'stars', 'balls'])
        who = rng.choice(['I have', 'Tom has', 'A farmer has', 'Mia has', 'The shop has'])
        he = {'I have': 'I', 'Tom has': 'he', 'Mia has': 'she', 'A farmer has': 'he', 'The shop has': 'it'}[who]
        s = '' if he == 'I' else 's'
        have = f'{who} {a} {things}'
        do = 'do' if he == 'I' else 'does'
        return {'+': f'{have} and get{s} {b} more. How many {do} {he} have now?',
                '-': f'{have} and give{s} away {b}. How many are left?',
                '*': f'There are {b} boxes with {a} {things} each. How many {things} are there?',
                '/': f'{a} {things} are shared by {b} children. How many does each one get?'}[sign]
    return careless(rng, choose(rng, ASK).replace('X', said)) if said[0] != '-' else f'What is {said}?'


def call(name, arguments):
    return '<tool_call>\n' + json.dumps({'name': name, 'arguments': arguments}) + '\n</tool_call>'


def answered(rng, ask, name, arguments, result, answer):
    return [message('user', ask), message('assistant', call(name, arguments)), message('tool', result),
            message('assistant', answer)]


def calculation(rng):
    a, sign, b, result = sum_of(rng)
    ask = sum_request(rng, a, sign, b)
    expression, word = f'{plain(a)} {sign} {plain(b)}', SIGNS[sign][0]
    value = plain(result)
    raw = rng.choice([value, json.dumps({'result': result})])
    said = f'{plain(a)} {word} {plain(b)}'
    answer = rng.choice([f'{said} is {value}.', f'{said} is {value}.', f'It is {value}.', f'The answer is {value}.',
                         f'That makes {value}.', f'{said} makes {value}.'])
    return answered(rng, ask, 'calculate', {'expression': expression}, raw, answer)


def converted(rng):
    ask, value, source, target, result, short = conversion(rng)
    raw = rng.choice([json.dumps({'value': result, 'unit': target}), json.dumps({'result': result}), f'{plain(result)} {target}',
                      plain(result)])
    is_are = 'is' if value == 1 else 'are'
    answer = rng.choice([f'{plain(value)} {short} {is_are} {plain(result)} {target}.', f'That is {plain(result)} {target}.',
                         f'{plain(value)} {short} {is_are} about {plain(result)} {target}.'])
    return answered(rng, careless(rng, ask), 'convert_units', {'value': value, 'from': source, 'to': target}, raw, answer)


DAY_ASKS = ("What day is it? | Which day is today? | What day of the week is it today? | What day do we have today? | Is it Monday today? | "
            "Tell me what day it is. | Do you know which day it is? | What weekday is it?")
DATE_ASKS = ("What is the date today? | What date is it? | What is today's date? | Tell me the date, please. | Which date is it today? | "
             "Can you tell me today's date? | The date, please. | What month is it? | Which year is it? | What is the date?")
TIME_ASKS = ("What time is it? | Can you tell me the time? | How late is it? | What is the time now? | Tell me the time, please. | "
             "Do you know what time it is? | The time, please. | Is it late?")


def today(rng):
    day = date(2020, 1, 1) + timedelta(days=rng.randrange(4500))
    hour, minute = rng.randrange(24), rng.randrange(60)
    clock, weekday = f'{hour:02d}:{minute:02d}', day.strftime('%A')
    long = f'{weekday}, {day.day} {day.strftime("%B")} {day.year}'
    raw = rng.choice([json.dumps({'date': day.isoformat(), 'weekday': weekday, 'time': clock}), f'{long}, {clock}',
                      json.dumps({'date': long, 'time': clock})])
    what = rng.choice(['day', 'date', 'time'])
    ask = choose(rng, {'day': DAY_ASKS, 'date': DATE_ASKS, 'time': TIME_ASKS}[what])
    if ask.startswith('Is it Monday'):
        answer = f'Yes, today is {weekday}.' if weekday == 'Monday' else f'No, today is {weekday}.'
    elif what == 'day':
        answer = rng.choice([f'Today is {weekday}.', f'It is {weekday}.', f'Today is {long}.'])
    elif what == 'time':
        answer = f'It is {clock}.'
    elif 'month' in ask:
        answer = f'It is {day.strftime("%B")} {day.year}.'
    elif 'year' in ask:
        answer = f'It is {day.year}.'
    else:
        answer = rng.choice([f'Today is {long}.', f'It is {long}.'])
    return answered(rng, careless(rng, ask), 'current_date', {}, raw, answer)


def some_tools(rng, needed):
    """The tools of a document: all three, or the needed one and perhaps another."""
    if rng.random() < 0.7:
        return ALL
    others = [t for t in ALL if t is not needed]
    tools = [needed] + rng.sample(others, rng.choice([0, 1, 2]))
    rng.shuffle(tools)
    return [described(rng, tool) for tool in tools]


ABOUT = {'calculate': ['Calculates.', 'Computes an arithmetic expression.', 'A calculator.', 'Works out sums.'],
         'current_date': ['Tells the date and the time.', 'Gives the current date.', 'What day and time it is now.'],
         'convert_units': ['Converts units.', 'Converts between units of length, weight and more.', 'Changes a value into another unit.']}


def described(rng, tool):
    """The tool, perhaps with another description."""
    if rng.random() < 0.3:
        return tool
    function = tool['function']
    return {**tool, 'function': {**function, 'description': rng.choice(ABOUT[function['name']])}}


def dialogue(rng):
    """One or two uses of tools, or a made-up tool. Gives messages, kind and tools."""
    roll = rng.random()
    maker, tool = rng.choices([(calculation, CALCULATE), (converted, CONVERT), (today, DATE)], [5, 4, 2])[0]
    if roll < 0.08:
        from .other_tools import made_up
        return made_up(rng)
    messages, tools = maker(rng), some_tools(rng, tool)
    if roll < 0.25:
        again = maker(rng)
        if sum(len(m['content']) for m in messages + again) < 700:
            messages = messages + again
    elif roll < 0.32:
        messages = messages + talk(choose(rng, 'Thank you. | Thanks! | Thank you very much. | Great, thanks.'),
                                   choose(rng, 'You are welcome! | You are welcome. | I am glad I could help.'))
    return messages, 'tool', tools


def without(rng):
    """Sums without a tool: small ones answered, hard ones declined."""
    if rng.random() < 0.6:
        a, sign, b, result = sum_of(rng, small=True)
        said = f'{a} {SIGNS[sign][0]} {b}'
        ask = choose(rng, ASK).replace('X', said)
        return talk(careless(rng, ask), rng.choice([f'{said} is {result}.', f'It is {result}.', f'That is {result}.'])), 'sum', None
    while True:
        a, sign, b, result = sum_of(rng)
        if max(a, b) > 20:
            break
    return talk(sum_request(rng, a, sign, b), choose(rng, (
        "I have no calculator here, and I am not good at big numbers. | That is too hard for me without a calculator. | "
        "I have no calculator here, so I cannot work that out. | I do not want to guess. I have no calculator here. | "
        "I am sorry, I need a calculator for that, and I have none here."))), 'no-calculator', None
