"""Which TB each SM of a device gets: a model of `TbDispatcher`, written from its documentation; and inputs of it."""

from typing import Any

from caesura.hw.device.tb_dispatcher import LeastLoaded

from ..hw.lockstep import noise, number

__all__ = ["Dispatcher", "any_grid", "happenings"]


class Dispatcher:
    """What the dispatcher is to do, with any inputs."""

    def __init__(self, g, policy):
        self.g, self.least_loaded = g, policy is LeastLoaded
        self.order = [*range(g.sms)]  # whose turn it is, of those that are alike
        self.answered, self.grant = None, None
        self.members, self.launched = [0] * g.kernel_slots, [0] * g.kernel_slots
        self.places, self.exhausted = [(0, 0, 0)] * g.kernel_slots, [0] * g.kernel_slots
        self.waiting = {}

    def first(self, k):
        """The first SM that has a kernel, None if there is none."""
        return next((i for i in range(self.g.sms) if self.members[k] >> i & 1), None)

    def chosen(self, given):
        claims = [i for i in self.order if given["claims"][i]["valid"] and i != self.answered]
        if self.least_loaded:
            claims.sort(key=lambda i: given["warps"][i])  # it keeps the order of equals
        return claims[0] if claims else None

    def outputs(self, given):
        g = self.g
        exhausted = sum(over << k for k, over in enumerate(self.exhausted))
        busy = [any(self.members[k] >> i & 1 and not given["idle"][i] >> k & 1 for i in range(g.sms))
                for k in range(g.kernel_slots)]
        outputs = {"members": list(self.members), "launched": list(self.launched)}
        for i in range(g.sms):
            outputs |= {f"supplies.{i}.offered": (1 << g.kernel_slots) - 1 - exhausted,
                        f"supplies.{i}.exhausted": exhausted,
                        f"supplies.{i}.places": [dict(zip("xyz", place, strict=True)) for place in self.places],
                        f"supplies.{i}.done": sum(1 << k for k, each in enumerate(busy) if not each) & exhausted,
                        f"supplies.{i}.grant.valid": int(i == self.answered)}
        if self.grant is not None:
            outputs |= {f"supplies.{self.answered}.grant.{name}": said for name, said in self.grant.items()}
        return outputs

    def following(self, place, grid):
        """Return the place after one, and whether there is none in the grid."""
        at = [*place]
        for axis, most in enumerate((1 << 32, 1 << 16, 1 << 16)):
            at[axis] += 1
            if at[axis] != grid[axis]:
                at[axis] %= most
                return tuple(at), 0
            if axis < 2:
                at[axis] = 0
        at[2] %= 1 << 16
        return tuple(at), 1

    def step(self, given):
        new, self.grant = {}, None
        self.answered = choice = self.chosen(given)
        if choice is not None:
            self.order.remove(choice)
            self.order.append(choice)
            if not self.least_loaded:
                self.order = [(choice + 1 + i) % self.g.sms for i in range(self.g.sms)]
            k = given["claims"][choice]["kernel"]
            if self.exhausted[k]:
                self.grant = {"none": 1}
            else:
                self.grant = {"none": 0, "launch_id": self.launched[k],
                              "place": dict(zip("xyz", self.places[k], strict=True))}
                first = self.first(k)
                grid = (0, 0, 0) if first is None else tuple(given["grids"][first][k].values())
                place, over = self.following(self.places[k], grid)
                new[k] = (self.launched[k] + 1) % (1 << 32), place, over
        if self.waiting:
            adopted = self.waiting.pop(min(self.waiting))
            k, progress = adopted["kernel"], adopted["progress"]
            found = progress["exhausted"], *(progress[f"next_{name}"] for name in "zyx")
            over, *place = max(found, (self.exhausted[k], *self.places[k][::-1]))
            new[k] = (self.launched[k] + progress["launched"]) % (1 << 32), tuple(place[::-1]), over
        self.waiting |= {i: each for i, each in enumerate(given["adopted"]) if each["valid"]}
        for k in range(self.g.kernel_slots):
            starting = sum((vector >> k & 1) << i for i, vector in enumerate(given["starts"]))
            if starting:
                self.members[k] = starting
                new[k] = 0, (0, 0, 0), 0
            if k in new:
                self.launched[k], self.places[k], self.exhausted[k] = new[k]


def any_grid(rng):
    """A grid of any size, often one that is soon at an end."""
    return {name: max(1, rng.choice([rng.randint(1, 3), number(rng, width), rng.getrandbits(width)]))
            for name, width in (("x", 32), ("y", 16), ("z", 16))}


def happenings(dut, rng, cycles, model):
    """Yield claims, starts and adoptions, most of one kernel for a while: where an adopted one goes on is often just
    before an end of its grid, or of a grid that differs from it in a bit."""
    g = dut.geometry
    kernels = range(g.kernel_slots)
    grids = [[any_grid(rng) for _ in kernels] for _ in range(g.sms)]
    idle, warps, rate, anew, busy, focus = [0] * g.sms, [0] * g.sms, 0.1, 0.1, 0.5, 0

    def kernel():
        return focus if rng.random() < 0.7 else rng.choice(kernels)

    def adoption(k):
        ends = [*grids[model.first(k) or 0][k].values()]
        if rng.random() < 0.4:
            axis = rng.randrange(3)
            ends[axis] ^= 1 << rng.randrange((32, 16, 16)[axis])
        if rng.random() < 0.3:
            ends = [rng.choice([end, end - 1, number(rng, 16), 1]) for end in ends]
        at = {f"next_{name}": (end - 1) % (1 << bits)
              for name, end, bits in zip("xyz", ends, (32, 16, 16), strict=True)}
        return noise(rng, dut.adopted[0].shape()) | {"valid": int(rng.random() < rate), "kernel": k, "progress": at | {
            "launched": number(rng, 32), "completed": number(rng, 32), "exhausted": int(rng.random() < 0.15)}}

    for cycle in range(cycles):
        if rng.random() < 0.05:
            rate, busy, focus = rng.choice((0.0, 0.1, 0.2, 0.6)), rng.choice((0.2, 0.5, 1.0)), rng.choice(kernels)
            anew = rng.choice((0.02, 0.1, 0.3))
        inputs: dict[str, Any] = {"grids": grids} if not cycle else {}
        if rng.random() < 0.1:
            i, k = rng.randrange(g.sms), kernel()
            grids[i][k] = inputs[f"grids.{i}.{k}"] = any_grid(rng)
        i = rng.randrange(g.sms)
        idle[i] = rng.choice([(1 << g.kernel_slots) - 1, rng.getrandbits(g.kernel_slots), idle[i] ^ 1 << focus])
        warps[i] = rng.choice([warps[i - 1], rng.randrange(g.warps + 1), rng.randrange(g.warps + 1)])
        starts, members = [0] * g.sms, rng.choice([rng.randrange(1, 1 << g.sms), 1 << rng.randrange(g.sms)])
        if rng.random() < anew:
            starts = [(members >> i & 1) << focus for i in range(g.sms)]
        elif rng.random() < 0.02:
            starts = [rng.getrandbits(g.kernel_slots) for _ in range(g.sms)]
        given = {"claims": [{"valid": int(rng.random() < busy), "kernel": kernel()} for _ in range(g.sms)],
                 "warps": list(warps), "idle": list(idle), "starts": starts, "grids": grids,
                 "adopted": [adoption(kernel()) for _ in range(g.sms)]}
        inputs |= {name: given[name] for name in ("idle", "starts", "adopted")}
        for i in range(g.sms):
            inputs |= {f"supplies.{i}.claim": given["claims"][i], f"supplies.{i}.warps": warps[i]}
        yield inputs, model.outputs(given)
        model.step(given)
