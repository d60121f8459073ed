"""Which places of a file are mistakes of the study. A file's draw depends on the file alone, and on how many it has."""
import collections
import hashlib


def quotas(lines, count):
    """How many places each file has, by its lines; they add up to `count`."""
    total, before, out = sum(lines.values()), 0, {}
    for file in sorted(lines):
        after = before + lines[file]
        out[file] = after * count // total - before * count // total
        before = after
    return out


def overlap(a, b):
    return a.start < b.end and b.start < a.end


class Draw:
    """Places of one file that do not overlap: all that are named, each barrier, and so many of the others."""

    def __init__(self, found, share, named):
        self.found, self.share, self.named = found, share, named
        self.chosen = []
        self._tried = set()

    def take(self):
        """Completes `chosen`. What was taken out of it since, because it does not compile, is not taken again."""
        for place in self.found:
            if self._is_always_there(place) and self._is_free(place):
                self._add(place)
        while sum(not self._is_always_there(p) for p in self.chosen) < self.share:
            free = [p for p in self.found if not self._is_always_there(p) and self._is_free(p)]
            if not free:
                return
            # Each file has an order of kinds of its own, so that the rare kinds have their turn as well.
            tally = collections.Counter(p.kind for p in self.chosen)
            turn = lambda p: hashlib.sha256(f"{p.path}|{p.kind}".encode()).hexdigest()
            self._add(min(free, key=lambda p: (tally[p.kind], turn(p), p.order())))

    def _is_always_there(self, place):
        return place.kind == "barrier" or place.key in self.named

    def _is_free(self, place):
        return place not in self._tried and not any(overlap(place, other) for other in self.chosen)

    def _add(self, place):
        self._tried.add(place)
        self.chosen.append(place)
