"""Unit conversions. In: a random source. Out: a request, the arguments of the call, and the right result."""
from .say import choose

# one | many | factor to the base unit
GROUPS = [
    [('kilometre', 'kilometres', 1000), ('metre', 'metres', 1), ('centimetre', 'centimetres', 0.01), ('mile', 'miles', 1609.344),
     ('foot', 'feet', 0.3048), ('inch', 'inches', 0.0254), ('yard', 'yards', 0.9144), ('millimetre', 'millimetres', 0.001)],
    [('kilogram', 'kilograms', 1000), ('gram', 'grams', 1), ('pound', 'pounds', 453.59237), ('ounce', 'ounces', 28.349523),
     ('ton', 'tons', 1e6)],
    [('litre', 'litres', 1), ('millilitre', 'millilitres', 0.001), ('gallon', 'gallons', 3.785412), ('cup', 'cups', 0.236588),
     ('pint', 'pints', 0.473176)],
    [('hour', 'hours', 3600), ('minute', 'minutes', 60), ('second', 'seconds', 1), ('day', 'days', 86400), ('week', 'weeks', 604800)],
]
USUAL = [('mile', 'kilometre'), ('kilometre', 'mile'), ('pound', 'kilogram'), ('kilogram', 'pound'), ('inch', 'centimetre'),
         ('centimetre', 'inch'), ('foot', 'metre'), ('metre', 'foot'), ('gallon', 'litre'), ('litre', 'gallon'), ('ounce', 'gram'),
         ('gram', 'ounce'), ('hour', 'minute'), ('day', 'hour'), ('metre', 'centimetre'), ('kilometre', 'metre'), ('week', 'day'),
         ('yard', 'metre'), ('cup', 'millilitre'), ('minute', 'second'), ('kilogram', 'gram'), ('pint', 'litre')]
HAND = {'kilometre': 'km', 'kilogram': 'kg', 'centimetre': 'cm', 'metre': 'm', 'gram': 'g', 'litre': 'l', 'millilitre': 'ml'}
ASK = ("How many T are N S? | How many T are N S? | How many T is N S? | Convert N S to T. | Convert N S to T, please. | "
       "Please convert N S to T. | Can you convert N S to T? | Can you convert N S into T for me? | What is N S in T? | "
       "What are N S in T? | How much is N S in T? | N S in T? | How many T are in N S? | Tell me N S in T. | "
       "Turn N S into T. | I have N S. How many T is that? | Change N S to T, please. | How far is N S in T? | "
       "How many T make N S? | Please tell me how many T are N S.")
NAMES = {one: (one, many, factor, i) for i, group in enumerate(GROUPS) for one, many, factor in group}


def amount(rng):
    roll = rng.random()
    if roll < 0.55:
        return rng.randint(1, 30)
    if roll < 0.75:
        return rng.randint(30, 500)
    if roll < 0.85:
        return rng.choice([100, 1000, 250, 1500, 50, 750])
    return round(rng.randint(1, 60) + rng.choice([0.5, 0.5, 0.25, 0.2, 0.75, 0.1]), 2)


def rounded(number):
    """Two decimals above 1, otherwise four significant digits; whole numbers stay whole."""
    number = round(number, 2) if abs(number) >= 1 else float(f'{number:.3g}')
    return int(number) if number == int(number) else number


def conversion(rng):
    """A request; value, from and to of the call; the result; the source unit as in the answer."""
    value = amount(rng)
    if rng.random() < 0.1:
        source, target = rng.choice([('celsius', 'fahrenheit'), ('fahrenheit', 'celsius')])
        result = rounded(value * 9 / 5 + 32 if source == 'celsius' else (value - 32) * 5 / 9)
        degrees = f'degrees {source.capitalize()}'
        ask = choose(rng, 'What is N D in T? | Convert N D to T. | How much is N D in T? | Please convert N D to T.')
        return (ask.replace('N', str(value)).replace('D', degrees).replace('T', target.capitalize()), value, source, target, result,
                degrees)
    if rng.random() < 0.75:
        one, other = rng.choice(USUAL)
    else:
        group = rng.choice(GROUPS)
        one, other = [u[0] for u in rng.sample(group, 2)]
    source, target = NAMES[one], NAMES[other]
    result = rounded(value * source[2] / target[2])
    if result < 0.01 or result > 1e6:
        return conversion(rng)
    said = source[0] if value == 1 else source[1]
    shown = HAND[one] if one in HAND and rng.random() < 0.15 else said
    spell = (lambda w: w.replace('metre', 'meter').replace('litre', 'liter')) if rng.random() < 0.12 else (lambda w: w)
    template = choose(rng, ASK if source[3] == 0 else ASK.replace(' | How far is N S in T?', ''))
    if value == 1:
        template = template.replace('What are', 'What is').replace(' are N', ' is N').replace('are in', 'are in')
    ask = ' '.join({'T': target[1], 'N': str(value), 'S': shown}.get(w.strip('?.,'), w.strip('?.,')) + w[len(w.rstrip('?.,')):]
                   for w in template.split())
    return spell(ask), value, source[1], target[1], result, said
