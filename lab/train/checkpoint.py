"""Writes checkpoints atomically and computes the remaining time, for both training loops."""
import math
import os
import time

import torch


def save(path, **state):
    """Writes a checkpoint so that a crash leaves the previous one intact."""
    torch.save(state, str(path) + '.part')
    os.replace(str(path) + '.part', path)


def seconds_until(clock):
    """Seconds from now until the next HH:MM in UTC; infinity without one."""
    if not clock:
        return math.inf
    now = time.gmtime()
    hour, minute = map(int, clock.split(':'))
    return ((hour * 60 + minute) * 60 - (now.tm_hour * 3600 + now.tm_min * 60 + now.tm_sec)) % 86400
