"""Dialogues with tools. In: a random source. Out: requests, Hermes calls, results and answers that repeat them."""
import json
from datetime import date, timedelta

from .arithmetic import SIGNS, plain, value_of
from .say import careless, choose, message, talk
from .sums import ASK, follow_up, sum_of
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
def call(name, arguments):
    return '<tool_call>\n' + json.dumps({'name': name, 'arguments': arguments}) + '\n</tool_call>'


def answered(rng, ask, name, arguments, result, answer):
    return [message('user', ask), message('assistant', call(name, arguments)), message('tool', result),
            message('assistant', answer)]


def one_sum(rng, question, expression, value):
    raw = value if rng.random() < 0.7 else json.dumps({'result': float(value) if '.' in value else int(value)})
    answers = [f'It is {value}.', f'The answer is {value}.', f'That makes {value}.', f'{expression} = {value}', f'{expression} is {value}.']
    a, *rest = expression.split(' ')
    if len(rest) == 2 and rest[0] in SIGNS and '%' not in expression:
        answers += [f'{a} {SIGNS[rest[0]][0]} {rest[1]} is {value}.'] * 4
    return answered(rng, question, 'calculate', {'expression': expression}, raw, rng.choice(answers))


def calculation(rng):
    """A sum, and sometimes one or two that continue from its result."""
    question, expression, value = sum_of(rng)
    messages = one_sum(rng, question, expression, value)
    for _ in range(rng.choice([0, 0, 0, 1, 1, 2])):
        if len(value) > 9 or value.startswith('-'):
            break
        question, expression = follow_up(rng, value)
        value = value_of(expression)
        messages += one_sum(rng, question, expression, value)
    return messages


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
    """The tool, perhaps with a different description."""
    if rng.random() < 0.3:
        return tool
    function = tool['function']
    return {**tool, 'function': {**function, 'description': rng.choice(ABOUT[function['name']])}}


def dialogue(rng):
    """One or two uses of tools, or an invented tool. Returns messages, kind and tools."""
    roll = rng.random()
    maker, tool = rng.choices([(calculation, CALCULATE), (converted, CONVERT), (today, DATE)], [9, 3, 2])[0]
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
    """Sums without a tool: small ones are answered, hard ones declined."""
    if rng.random() < 0.6:
        sign = rng.choice('+-')
        a, b = sorted((rng.randint(0, 10), rng.randint(0, 10)), reverse=True)
        said, result = f'{a} {SIGNS[sign][0]} {b}', a + b if sign == '+' else a - b
        ask = choose(rng, ASK).replace('X', said)
        return talk(careless(rng, ask), rng.choice([f'{said} is {result}.', f'It is {result}.', f'That is {result}.'])), 'sum', None
    question, _, _ = sum_of(rng)
    return talk(question, choose(rng, (
        "I have no calculator here, and I am not good at big numbers. | That is too hard for me without a calculator. | "
        "I have no calculator here, so I cannot work that out. | I do not want to guess. I have no calculator here. | "
        "I am sorry, I need a calculator for that, and I have none here."))), 'no-calculator', None
