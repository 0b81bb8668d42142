# Shared by the programs in this folder: the server's address and model, the questions, and printing the answer as JSON.
import json
import sys
from typing import Literal

from pydantic import BaseModel

URL, MODEL = sys.argv[1:3]
PROMPT = "Tell me a story about a cat."
MESSAGES = [{"role": "user", "content": PROMPT}]
TEXTS = ["a cat", "a dog"]
# More tokens than the model's context holds.
TOO_LONG = "word " * 4000
LENGTH = 24
ROOM = 64


class Cat(BaseModel):
    """A cat."""

    name: Literal["Tom", "Mia"]
    lives: Literal[9]


ADD = {
    "type": "function",
    "function": {
        "name": "add",
        "description": "Adds two numbers.",
        "parameters": {
            "type": "object",
            "properties": {"a": {"const": 2}, "b": {"const": 3}},
            "required": ["a", "b"],
            "additionalProperties": False,
        },
    },
}


def add(a: Literal[2], b: Literal[3]) -> int:
    """Adds two numbers."""
    return a + b


def tell(**answers):
    print(json.dumps(answers))
