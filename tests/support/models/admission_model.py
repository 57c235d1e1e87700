"""Admission and its parts as models: of the inputs of a cycle, what the blocks tell in it, and how they go on."""

from __future__ import annotations

from typing import Any

from caesura.hw.arch.geometry import REGISTER_BANKS, Geometry
from caesura.hw.arch.tb_footprint import local_region_bytes

from .range_models import CheapestSearch, RangeTable

__all__ = ["Admission", "Entries"]

Inputs = dict[str, Any]
"""Of a block, by name."""


def lowest_free(taken: int) -> int:
    """Return the number of the lowest bit that is not set."""
    return (~taken & taken + 1).bit_length() - 1


class Entries:
    """Entries of kernels, and the search for one, whose answer stands when it begins; it is only told later."""

    def __init__(self, g: Geometry):
        self.g = g
        self.owned = [0] * g.kernel_slots
        self.kernel, self.entry, self.address = 0, 0, 0
        self.found, self.left = False, -1
        """Whether there is an entry, and the cycles until that is told; none is asked for yet."""

    @property
    def done(self) -> bool:
        """The answer is there."""
        return self.left == 0

    def usable(self, request: Inputs) -> int:
        """How many of its entries the kernel may use."""
        return self.g.spare_entries and min(request["entries"], self.g.context_entries) or self.g.tb_slots

    def outputs(self) -> dict[str, Any]:
        """What the block tells."""
        told: dict[str, Any] = {"owned": list(self.owned)} if self.g.watches else {}
        told["done"] = int(self.done)
        if self.done:
            told["found"] = int(self.found)
        if self.done and self.found:
            told |= {"entry": self.entry, "address": self.address}
        return told

    def ask(self, request: Inputs) -> None:
        """Begin a search."""
        self.kernel = request["kernel"]
        free = lowest_free(self.owned[self.kernel])
        self.entry, self.found = request["entry"], True
        if not request["restored"]:
            self.entry, self.found = free, free < self.usable(request)
        size = local_region_bytes(self.g, request["warps"], request["local_bytes"])
        self.address = (request["local_base"] + self.entry * size) % (1 << 32)
        self.left = 0
        if request["local_bytes"]:
            self.left = request["warps"].bit_length() + 2 + (self.entry if self.found else 0)
            if request["restored"]:
                self.found = self.address == request["address"]

    def step(self, given: Inputs) -> None:
        """Go on by a cycle."""
        kernel, entry, before = self.kernel, self.entry, list(self.owned)
        if given["request"]["valid"]:
            self.ask(given["request"])
        elif self.left > 0:
            self.left -= 1
        if given["take"]:
            before[kernel] |= 1 << entry
        ended, adopted = given["ended"], given["adopted"]
        if ended["valid"]:
            before[ended["kernel"]] &= ~(1 << ended["entry"])
        self.owned = [0 if given["start"] >> k & 1 else owned for k, owned in enumerate(before)]
        if adopted["valid"]:
            self.owned[adopted["kernel"]] = adopted["saved"]


class Slots:
    """Warp slots that are collected, the lowest first."""

    def __init__(self):
        self.count = 0
        self.slots: list[int] = []

    @property
    def done(self) -> bool:
        """All are."""
        return len(self.slots) == self.count

    def step(self, count: int | None, taken: int) -> None:
        """Go on by a cycle, in which so many are asked for."""
        if count is not None:
            self.count, self.slots = count, []
        elif not self.done:
            self.slots.append(lowest_free(taken | sum(1 << slot for slot in self.slots)))


class Admission:
    """One TB after the other: it is checked, searched for room, entered, launched."""

    def __init__(self, g: Geometry):
        self.g, self.state, self.restored = g, "idle", False
        self.current: Inputs = {"kernel": 0}
        self.tb = self.blocked = self.hopeless = self.evict = self.stuck = 0
        self.room_freed = self.only_stuck = False
        self.tables = {name: RangeTable(capacity, 2 * g.tb_slots)
                       for name, capacity in (("rows", g.register_rows), ("lines", g.shared_lines))}
        self.cheapest = {name: CheapestSearch(table.capacity) for name, table in self.tables.items()}
        self.slots, self.entries = Slots(), Entries(g)

    def room_changes(self, given: Inputs) -> bool:
        """Whether something changes in a cycle that could make room."""
        return bool(given["remove"] or given["release"] or given["stuck"] != self.stuck)

    def needs(self, given: Inputs) -> Inputs:
        """What a TB of the kernel in hand needs."""
        kernel = self.current["kernel"]
        return given["kernels"][kernel] | given["footprints"][kernel]

    def there(self, name: str) -> bool:
        """Whether a restored TB has its registers, or its lines, on the SM."""
        return self.restored and bool(self.current["registers" if name == "rows" else "lines"])

    def enters(self, given: Inputs) -> bool:
        """Whether a TB enters the SM in a cycle."""
        grant = given.get("grant", {"valid": 1, "none": 0})
        return self.state == "enter" and (self.restored or bool(grant["valid"] and not grant["none"]))

    def request(self, given: Inputs) -> int:
        """Kernels that a fresh TB is wanted of."""
        return given["eligible"] & ~self.blocked

    def place(self) -> Inputs:
        """Where the TB in hand is."""
        starts = {name: table.start for name, table in self.tables.items()}
        return {"base": self.current["base"] if self.there("rows") else REGISTER_BANKS * starts["rows"],
                "first_line": self.current["first_line"] if self.there("lines") else starts["lines"]}

    def outputs(self, given: Inputs) -> dict[str, Any]:
        """What the block tells in a cycle."""
        enters, fresh, kernel = self.enters(given), self.state == "launch", self.current["kernel"]
        told: dict[str, Any] = {
            "grid.request": self.request(given), "admit.ready": int(self.state == "idle"), "evict": self.evict,
            "hopeless": self.hopeless, "room.insert.valid": int(enters), "fresh.valid": int(fresh),
            "grid.advance.valid": int(enters and not self.restored), "launching.valid": int(self.state != "idle")}
        for port, table in zip(("registers", "lines"), self.tables.values(), strict=True):
            for k, row in enumerate(table.rows):
                told |= {f"{port}.{k}": row} if row["valid"] else {f"{port}.{k}.valid": 0}
        if self.state != "idle":
            told["launching.kernel"] = kernel
        if self.g.watches:
            told |= {"blocked": self.blocked, "crowded": self._crowded(given)}
        if "grant" in given:
            told["claim.valid"] = int(self.state == "enter" and not self.restored)
            if told["claim.valid"]:
                told["claim.kernel"] = kernel
        return told | self._answer() | (self._entered(given) if enters else {"clear_lines.valid": 0}) | (
            self._launched(given) if fresh else {})

    def _crowded(self, given: Inputs) -> int:
        usable = [self.entries.usable(info) for info in given["kernels"]]
        return sum(1 << k for k, owned in enumerate(self.entries.owned) if lowest_free(owned) >= usable[k])

    def _answer(self) -> dict[str, Any]:
        full = self.state == "full" and self.restored and not self.room_freed
        valid = full or self.state in ("answer", "refuse")
        if not valid:
            return {"admitted.valid": 0}
        told = {"valid": 1, "full": int(full), "bad": int(self.state == "refuse")}
        if self.state == "answer":
            told |= {"tb": self.tb, **self.place()} | {f"slots.{k}": slot for k, slot in enumerate(self.slots.slots)}
        return {f"admitted.{name}": value for name, value in told.items()}

    def _entered(self, given: Inputs) -> dict[str, Any]:
        needs, entries = self.needs(given), self.entries
        told = {"room.insert.tb": self.tb, "room.insert.warps": needs["warps"],
                "room.insert.shared_bytes": needs["shared_bytes"]}
        identity = {name: self.current[name] for name in ("launch_id", "ctaid_x", "ctaid_y", "ctaid_z")}
        if "grant" in given and not self.restored:
            grant = given["grant"]
            identity = {"launch_id": grant["launch_id"]} | {f"ctaid_{name}": grant["place"][name] for name in "xyz"}
        row = identity | self.place() | {
            "kernel": self.current["kernel"], "lines": needs["lines"], "entry": entries.entry,
            "local_base": entries.address, "warps": sum(1 << slot for slot in self.slots.slots)}
        told |= {f"room.insert.row.{name}": value for name, value in row.items()}
        clear = needs["lines"] and not self.there("lines")
        told["clear_lines.valid"] = int(bool(clear))
        if clear:
            told |= {"clear_lines.first": row["first_line"], "clear_lines.count": needs["lines"]}
        return told if self.restored else told | {"grid.advance.kernel": self.current["kernel"]}

    def _launched(self, given: Inputs) -> dict[str, Any]:
        told = {name: self.needs(given)[name] for name in ("registers", "warps", "threads")}
        told |= {"kernel": self.current["kernel"], "tb": self.tb, "base": self.place()["base"]}
        told |= {f"slots.{k}": slot for k, slot in enumerate(self.slots.slots)}
        return {f"fresh.payload.{name}": value for name, value in told.items()}

    def _movable(self, given: Inputs) -> set[int]:
        """Rows of the staying table that can be evicted."""
        return {k for k, kernel in enumerate(given["rows"])
                if given["evictable"] >> k & 1 and not given["stuck"] >> kernel & 1}

    def step(self, given: Inputs) -> None:
        """Go on by a cycle."""
        needs, room_changes, enters = self.needs(given), self.room_changes(given), self.enters(given)
        cancelled = not self.restored and not given["eligible"] >> self.current["kernel"] & 1
        room = (lowest_free(given["occupied"]) < self.g.tb_slots
                and given["warp_count"] + needs["warps"] <= self.g.warps)
        attempt = self.state == "check" and room and not cancelled
        state, begins, wanted = self._next(given, needs, room, cancelled, room_changes)
        if room_changes:
            self.blocked, self.room_freed = 0, True
        else:
            self.blocked &= ~given["start"]
            if self.state == "check":
                self.room_freed = False
            if self.state == "full" and state == "idle" and not self.restored:
                self.blocked |= 1 << self.current["kernel"]
        movable = self._movable(given)
        self.evict = sum(1 << k for k in movable if (self.evict >> k & 1 and not room_changes) or k in wanted)
        self._search(given, needs, attempt, enters, begins, {self.g.tb_slots + k for k in movable})
        if attempt:
            self.tb = lowest_free(given["occupied"])
        if self.state == "idle":
            self.restored = bool(given["admit.valid"])
            self.current = given["admit.payload" if self.restored else "next"]
        self.state, self.stuck = state, given["stuck"]

    def _next(self, given: Inputs, needs: Inputs, room: bool, cancelled: bool, room_changes: bool
              ) -> tuple[str, bool, set[int]]:
        """Return the state to come, whether the search for evictions begins, and what it finds."""
        match self.state:
            case "idle":
                return "check" if given["admit.valid"] or given["next_valid"] else "idle", False, set()
            case "check":
                self.only_stuck = False
                return "idle" if cancelled else "search" if room else "full", False, set()
            case "search":
                return *self._found(given, cancelled), set()
            case "make_room":
                return self._room_made(given)
            case "full":
                if self.only_stuck and not self.room_freed and not room_changes:
                    self.hopeless |= 1 << self.current["kernel"]
                return "check" if self.room_freed else "idle", False, set()
            case "enter":
                if self.enters(given):
                    return "answer" if self.restored else "launch", False, set()
                return "idle" if given["grant"]["valid"] else "enter", False, set()
            case "launch":
                return "idle" if given["fresh.ready"] else "launch", False, set()
        return "idle", False, set()

    def _found(self, given: Inputs, cancelled: bool) -> tuple[str, bool]:
        """Whether a place is found."""
        room_missing = any(table.done and not table.fits for table in self.tables.values())
        entry_missing = self.entries.done and not self.entries.found
        if cancelled:
            return "idle", False
        if entry_missing:
            return "refuse" if self.restored else "full", False
        if room_missing:
            begins = bool(given["evictable"])
            return "make_room" if begins else "full", begins
        done = all(each.done for each in (*self.tables.values(), self.slots, self.entries))
        return "enter" if done else "search", False

    def _room_made(self, given: Inputs) -> tuple[str, bool, set[int]]:
        """What is in the way of the resources of which there is too little."""
        if not all(each.done for each in (*self.tables.values(), *self.cheapest.values())):
            return "make_room", False, set()
        short = [(self.cheapest[name], table) for name, table in self.tables.items() if not table.fits]
        fits = all(each.fits for each, _ in short)
        self.only_stuck = not fits and not given["occupied"]
        owners = [table.rows[k]["owner"] for each, table in short for k in each.places]
        rows = {owner - self.g.tb_slots for owner in owners if owner >= self.g.tb_slots}
        return "full", False, rows if fits else set()

    def _search(self, given: Inputs, needs: Inputs, attempt: bool, enters: bool, begins: bool, movable: set[int]
                ) -> None:
        """Let the searches go on, and take what they have found."""
        if self.room_changes(given) or enters:
            self.hopeless = 0
        for name, table in self.tables.items():
            self.cheapest[name].step(needs[name] if begins else None, table.rows,
                                     [row["owner"] in movable for row in table.rows])
            size = 0 if self.there(name) else needs[name]
            move = given["move_registers" if name == "rows" else "move_lines"]
            table.step(size if attempt else None,
                       {"owner": self.tb, "start": table.start, "size": size} if enters else None,
                       given["remove"] | given["release"], move)
        self.slots.step(needs["warps"] if attempt else None, given["warps_taken"])
        current = self.current
        self.entries.step({
            "request": needs | {"valid": int(attempt), "kernel": current["kernel"], "restored": int(self.restored),
                                "entry": current.get("entry"), "address": current.get("local_base")},
            "take": enters, **{name: given[name] for name in ("ended", "start", "adopted")}})
