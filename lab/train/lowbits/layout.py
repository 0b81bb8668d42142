"""Which matrix of which block has which format.

A layout is a format for all, followed by exceptions: `w3z_g64,v_proj=w4z_g64,29.*=w4z_g32`. An exception's left side is a pattern
for the block's number and the matrix's name, like 29.mlp.down_proj, or for the end of it. The last one that matches counts.
A layout can also be a JSON file of such pairs, whose key `*` has the format for all.
"""
import json
from fnmatch import fnmatchcase
from pathlib import Path

from lowbits.grid import format_of


def pairs_of(text):
    """The patterns and names of formats of a layout. Raises ValueError if there is no format for all."""
    if text.endswith('.json'):
        pairs = list(json.loads(Path(text).read_text(encoding='utf-8')).items())
    else:
        pairs = [tuple(part.split('=', 1)) if '=' in part else ('*', part) for part in text.split(',')]
    if pairs[0][0] != '*':
        raise ValueError(f'the layout {text} starts with {pairs[0][0]}; begin with the format of all other matrices')
    return pairs


def layout_of(text):
    """A function from a block's number and a matrix's name to its format. Raises ValueError for unknown formats."""
    pairs = [(pattern, format_of(name)) for pattern, name in pairs_of(text)]

    def form(at, name):
        full = f'{at}.{name}'
        return [each for pattern, each in pairs if fnmatchcase(full, pattern) or fnmatchcase(full, f'*.{pattern}')][-1]

    return form
