"""Admission beside a model, in every cycle, among TBs that come, leave, are saved and stay."""

import random

import pytest

from caesura.hw.arch.geometry import preset
from caesura.hw.arch.tb_footprint import local_region_bytes
from caesura.hw.dispatch.admission import Admission
from support.hw.lockstep import lockstep, noise, number
from support.hw.simulation import component
from support.models.admission_model import Admission as Model
from support.selection import quick

FIVE_TBS = preset("tiny").replace(warps=11, tb_slots=5, kernel_slots=3, registers=128)
PORTS = {**{name: f"room.{name}" for name in ("occupied", "warps_taken", "warp_count")},
         **{name: f"grid.{name}" for name in ("next_valid", "next")}}
"""Inputs that are members of a port."""


class Machine:
    """The surroundings of an `Admission`: kernels, TBs that run, saved ones, rows that stay. It asks the model."""

    def __init__(self, dut, rng, kinds):
        self.dut, self.g, self.rng, self.model = dut, dut.geometry, rng, Model(dut.geometry)
        kernels = range(self.g.kernel_slots)
        self.kernels, self.footprints = [None for _ in kernels], [None for _ in kernels]
        for k in kernels:
            self.describe(k)
        self.rows, self.saved, self.staying = {}, [], [None] * self.g.tb_slots
        """TBs by slot, saved TBs, and the saved TB of each row of the staying table."""
        self.junk = {}  # inputs where nothing is valid
        self.kept = [0] * self.g.tb_slots  # kernels of these rows
        self.back = []  # what stays and is its TB's again
        self.offered, self.waiting, self.entered, self.dying = None, None, None, None
        self.stuck, self.left, self.kinds = 0, 0, kinds

    def describe(self, k):
        """Make kernel `k` another one: often many of its TBs fit, or one TB needs the room of a few."""
        g, rng = self.g, self.rng
        units = g.warps, g.register_rows, g.shared_lines
        if rng.random() < 0.7:
            warps, rows, lines = (rng.randint(*(max(1, most // part) for part in parts)) for most, parts in zip(
                units, ((9, 5), (5, 2), (4, 2)) if k == 0 else ((9, 5), (16, 8), (8, 8)), strict=True))
        else:
            warps, rows, lines = (rng.randint(1, max(1, most // rng.choice((1, 2, 5, 5, 8)))) for most in units)
        self.kernels[k] = noise(rng, self.dut.kernels[0].shape()) | {
            "warps": warps, "local_bytes": rng.choice([0, number(rng, 16)])}
        if g.spare_entries:
            self.kernels[k]["entries"] = rng.choice([0, *range(g.tb_slots, g.context_entries + 1)])
        self.footprints[k] = {"rows": rows, "lines": rng.choice([0, lines, lines, lines])}

    def theme(self):
        """Choose a kind for a while.

        ``usual``: TBs leave, are saved and come back, and their rows that stay are evicted, often or seldom.
        ``fills``: rows that stay fill the SM, and TBs want room that is not there. ``stuck``: rows that stay fill the
        SM, and memory refuses all of them. ``packed``: TBs and rows that stay fill all slots.
        """
        rng, every = self.rng, (1 << self.g.kernel_slots) - 1
        self.kind = rng.choice(self.kinds)
        self.left, self.last = (600, 0.2) if self.kind == "packed" else (100, rng.choice((0.05, 0.3, 1)))
        self.leaves, self.saves, self.keeps, self.restores, self.evicts, self.starts = (
            rng.choice(choices) for choices in {
                "usual": ((0, 0.02, 0.1, 0.3), (0, 0.5, 0.9), (0.3, 0.9), (0.02, 0.3), (0, 0.05, 0.3), (0.2, 0.9)),
                "fills": ((0.05, 0.1, 0.2), (0.95,), (0.95,), (0, 0.5), (0, 0.02, 0.1), (0.9,)),
                "stuck": ((0.3,), (0.95,), (0.95,), (0, 0.5), (0,), (0.9,)),
                "packed": ((0.1,), (1,), (1,), (0,), (0.1,), (0.9,))}[self.kind])
        self.eligible = rng.choice([every, every, every, number(rng, self.g.kernel_slots)])
        self.stuck = rng.choice([0, 0, self.stuck, number(rng, self.g.kernel_slots), every])
        if self.kind == "stuck":
            self.last, self.stuck = 1, every
        if rng.random() < 0.3:
            self.dying = rng.randrange(self.g.kernel_slots)

    def cycle(self):
        """Return the inputs of a cycle."""
        g, rng, dut = self.g, self.rng, self.dut
        if rng.random() < 0.1 or not self.junk:
            move = dut.staying.move_lines
            self.junk = {name: noise(rng, port.shape()) | {"valid": 0} for name, port in (
                ("ended", dut.ended), ("adopted", dut.adopted), ("move_registers", move), ("move_lines", move))}
            self.junk |= {name: noise(rng, dut.grid.next.shape()) for name in ("next", "admit.payload")}
            self.junk["next"]["kernel"] = rng.randrange(g.kernel_slots)
        given = {name: dict(each) for name, each in self.junk.items()}
        given |= {"start": 0, "remove": 0, "release": 0, "next_valid": 0}
        if rng.random() < (0.02 if self.kind == "usual" else 0.04):
            self.stuck ^= 1 << rng.randrange(g.kernel_slots)
        given["eligible"] = self.eligible & ~(0 if self.dying is None else 1 << self.dying)
        self._ends(given)
        self._leaves(given)
        given |= {"kernels": list(self.kernels), "footprints": list(self.footprints),
                  "occupied": sum(1 << tb for tb in self.rows), "stuck": self.stuck, "rows": list(self.kept),
                  "warps_taken": sum(row["warps"] for row in self.rows.values()),
                  "warp_count": sum(row["warps"].bit_count() for row in self.rows.values()),
                  "evictable": sum(1 << r for r, tb in enumerate(self.staying) if tb and not tb["lent"]),
                  "fresh.ready": int(rng.random() < self.starts)}
        if g.has_uncore:
            given["grant"] = noise(rng, dut.grant.shape()) | {"valid": int(rng.random() < self.starts),
                                                              "none": int(rng.random() < 0.3)}
        self._offers(given)
        return given

    def _offers(self, given):
        """Offer a saved TB, now and then with wrong local memory, and a fresh one of a requested kernel."""
        rng = self.rng
        able = [tb for tb in self.saved if self.kind == "usual" or tb["row"] is None]
        if self.offered is None and able and rng.random() < self.restores:
            self.offered = rng.choice(able)
            self.saved.remove(self.offered)
            self.offered["lent"] = True
            wrong = rng.choice([0, 0, 0, 1 << rng.randrange(32)])
            self.payload = {name: self.offered[name] for name, _ in self.dut.grid.next.shape()}
            self.payload["local_base"] ^= wrong
        given["admit.valid"] = int(self.offered is not None and self.waiting is None)
        if given["admit.valid"]:
            given["admit.payload"] = dict(self.payload)
        wanted = [k for k in range(self.g.kernel_slots) if self.model.request(given) >> k & 1]
        if wanted and self.model.state == "idle":
            given["next_valid"] = int(rng.random() < 0.8)
        if given["next_valid"]:
            given["next"] = noise(rng, self.dut.grid.next.shape()) | {"kernel": rng.choice(wanted)}

    def _tbs(self, kernel):
        return [each for each in (*self.rows.values(), *self.saved, self.offered, self.waiting)
                if each and each["kernel"] == kernel]

    def _leaves(self, given):
        """Let a TB end or be saved, or evict a row that stays, or give it back to its TB."""
        rng, g = self.rng, self.g
        for what, name in self.back:
            given[f"move_{name}"] = what
        moving, self.back = bool(self.back), []
        stay = [r for r, tb in enumerate(self.staying) if tb and not tb["lent"]]
        wanted = [r for r in stay if self.model.evict >> r & 1]
        over = [r for r in stay if self.kept[r] == self.dying]
        if rng.random() < (self.evicts if wanted else 0.2 if over else self.evicts / 4) and stay:
            r = rng.choice(wanted or over or stay)
            given["release"] = 1 << g.tb_slots + r
            self.staying[r].update(registers=0, lines=0, row=None)
            self.staying[r] = None
        ready = [tb for tb, row in self.rows.items() if row is not self.entered]
        stays = None not in self.staying
        full = self.kind != "usual" and stays and len(self.rows) < g.tb_slots  # then TBs come in
        over = [tb for tb in ready if self.rows[tb]["kernel"] == self.dying]
        often = max(self.leaves * (self.last if full else 1), 0.1 if over else 0)
        if moving or not ready or rng.random() >= often:
            return
        slot = rng.choice(over or ready)
        tb = self.rows[slot]
        large = self.kind != "usual" and tb["kernel"] == 0
        ends = (tb["kernel"] == self.dying or large or self.kind == "packed" and stays
                or rng.random() >= self.saves)
        if ends and given["ended"]["valid"]:
            return
        given["remove"] = 1 << slot
        if ends:
            given["ended"] = {"valid": 1, "kernel": tb["kernel"], "entry": tb["entry"]}
            return
        tb |= {"registers": 0, "lines": 0, "lent": False, "row": None}
        free = [r for r, each in enumerate(self.staying) if each is None and not given["release"]]
        if free and rng.random() < self.keeps:
            r = rng.choice(free)
            for name in rng.choice((("registers",), ("lines",), *[("registers", "lines")] * 4)):
                given[f"move_{name}"] = {"valid": 1, "owner": slot, "to": g.tb_slots + r}
                tb[name] = 1
            self.staying[r], self.kept[r], tb["row"] = tb, tb["kernel"], r
            tb["lent"] = True  # its row can be evicted from the cycle after
        self.saved.append(tb)

    def _ends(self, given):
        """Forget a saved TB; start a kernel anew, or adopt it from memory, if nothing of it is left."""
        k, rng = self.dying, self.rng
        many = self.kind == "packed" or len(self.saved) > 7
        away = [tb for tb in self.saved if tb["row"] is None and (tb["kernel"] == k or many)]
        if away and rng.random() < 0.3:
            gone = away[0]
            self.saved.remove(gone)
            given["ended"] = {"valid": 1, "kernel": gone["kernel"], "entry": gone["entry"]}
            return
        if k is None and rng.random() < 0.05:
            k = rng.randrange(self.g.kernel_slots)
        idle = self.model.state == "idle" or self.model.current["kernel"] != k
        if k is not None and not self._tbs(k) and idle:
            given["eligible"] &= ~(1 << k)
            self.dying = None
            self.describe(k)
            if rng.random() < 0.7:
                given["start"] = 1 << k
                return
            entries = number(rng, self.g.context_entries)
            given["adopted"] |= {"valid": 1, "kernel": k, "saved": entries}
            for entry in range(self.g.context_entries):
                if entries >> entry & 1:
                    info, size = self.kernels[k], local_region_bytes(
                        self.g, self.kernels[k]["warps"], self.kernels[k]["local_bytes"])
                    self.saved.append(noise(rng, self.dut.grid.next.shape()) | {
                        "kernel": k, "entry": entry, "registers": 0, "lines": 0, "lent": False, "row": None,
                        "local_base": (info["local_base"] + entry * size) % (1 << 32)})

    def follow(self, given, told):
        """Carry out the outputs of the block."""
        model = self.model
        if given["remove"]:
            del self.rows[given["remove"].bit_length() - 1]
        for tb in self.staying:
            if tb and tb["lent"] and any(tb is each for each in self.saved):
                tb["lent"] = False
        if told["room.insert.valid"]:
            own = "room.insert.row."
            row = {name.removeprefix(own): value for name, value in told.items() if name.startswith(own)}
            self.entered = self.rows[told["room.insert.tb"]] = row
        if told["fresh.valid"] and given["fresh.ready"]:
            self.entered = None
        if told["admitted.valid"]:
            tb, self.waiting = self.waiting, None
            if told["admitted.full"] or told["admitted.bad"]:
                tb["lent"] = False
                self.saved.append(tb)
            else:
                if tb["row"] is not None:
                    self.back = [({"valid": 1, "owner": self.g.tb_slots + tb["row"], "to": told["admitted.tb"]}, name)
                                 for name in ("registers", "lines") if tb[name]]
                    self.staying[tb["row"]] = None
                self.entered = None
        if given["admit.valid"] and told["admit.ready"]:
            self.waiting, self.offered = self.offered, None
        model.step(given)

    def run(self, cycles):
        """Yield the inputs that change, and the outputs."""
        staying, before = ("release", "evictable", "move_registers", "move_lines"), {}
        for _ in range(cycles):
            if self.left == 0:
                self.theme()
            self.left -= 1
            given = self.cycle()
            told = self.model.outputs(given)
            inputs = {PORTS.get(name, name): value for name, value in given.items() if name not in (
                "kernels", "footprints", "rows", *staying)}
            for name in ("kernels", "footprints"):
                inputs |= {f"{name}.{k}": value for k, value in enumerate(given[name])}
            inputs |= {f"staying.rows.{r}.what.kernel": kernel for r, kernel in enumerate(given["rows"])}
            inputs |= {f"staying.{name}": given[name] for name in staying}
            yield {name: value for name, value in inputs.items() if before.get(name) != value}, told
            before = inputs
            self.follow(given, told)


KINDS = ("usual", "fills", "stuck", "packed")
DEVICE = preset("tiny").replace(sms=2, warps=8, tb_slots=3, kernel_slots=3, entries=7, watches=2)
MODELLED = {"5 TBs": (FIVE_TBS, ("usual", "usual", "fills", "stuck")),
            "packed": (FIVE_TBS, ("packed",)), "of a device": (DEVICE, KINDS)}


@pytest.mark.parametrize("name, cycles", quick(
    [("5 TBs", 150), ("5 TBs", 12000), ("packed", 12000), ("of a device", 3000)], [("5 TBs", 150)]))
def test_all_is_as_of_a_model(name, cycles):
    g, kinds = MODELLED[name]
    dut = component(Admission, g)
    lockstep(dut, Machine(dut, random.Random(name), kinds).run(cycles))
