"""``caesura board``: the bitstream of a board, and what a board on a serial port says of itself."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import click

from caesura.hw.arch.geometry import Geometry
from caesura.software.driver.machine import board as boards

from .common import EXIT_WRONG, Choice, CommandGroup, JsonTarget, Range, examples, json_option, progress_lines
from .machine import geometry_option
from .outputs import OUTPUT

__all__ = ["SIMULATED", "baud_option", "board_group", "opened_board"]

SIMULATED = "simulated"
"""Value in the place of a port: a board under Verilator."""

baud_option = click.option("--baud", type=click.IntRange(1, 12_000_000), default=boards.BAUD, show_default=True,
                           help="Bits a second of the board's serial line.")


def opened_board(port: str, geometry: Geometry | None, baud: int, progress) -> boards.SerialTransport:
    """Return the board on a port, or the simulated one, whose geometry has to be given."""
    if port != SIMULATED:
        return boards.open_board(port, geometry, baud=baud)
    if geometry is None:
        raise click.UsageError("a simulated board has the SM that --geometry or --preset say; give one of them")
    from caesura.sim.board import simulated_board

    line = simulated_board(geometry, progress=progress)
    return boards.SerialTransport(line, SIMULATED, geometry)


@click.group("board", cls=CommandGroup)
def board_group():
    """A board with an SM: its bitstream, and what is at the end of a serial port (docs/board.md).

    Kernels run on it with `caesura run --board PORT` and `caesura preempt --board PORT`.
    """


@board_group.command("build", epilog=examples("caesura board build --geometry examples/ulx3s.toml -o ulx3s.bit",
                                              "caesura board build --leave-out machine --clock 25"))
@click.option("--board", "board_name", type=Choice(("ulx3s",)), default="ulx3s", show_default=True,
              help="ULX3S with an LFE5U-85F.")
@click.option("-o", "--output", type=OUTPUT, default=Path("ulx3s.bit"), show_default=True, help="The bitstream.")
@click.option("--clock", "clock_mhz", type=Range(3.125, 400), default=12.5, show_default=True,
              help="Megahertz; the board has the nearest clock that is not above.")
@click.option("--memory", "memory_kib", type=click.IntRange(4, 416), default=128, show_default=True,
              help="KiB of memory on the chip.")
@click.option("--leave-out", type=Choice(("preemption", "machine")),
              help="Put nothing in the place of the preemption engine, or of the whole SM.")
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=1, show_default=True, help="Seed of the placer.")
@click.option("--place/--no-place", default=True, show_default=True, help="Place and route, or count cells only.")
@click.option("--parts", is_flag=True, help="Say what the submodules take.")
@baud_option
@geometry_option("ecp5")
@json_option
def board_build(board_name, output, clock_mhz, memory_kib, leave_out, seed, place, parts, baud, geometry, as_json):
    """Build a bitstream with Yosys, nextpnr and ecppack, all of which are WebAssembly from pip.

    Says what the board takes next to what the device has, and its clock frequency next to the clock that was asked
    for. If the device has no room, it says what is missing, and there is no bitstream.
    """
    from caesura.sim.board import bitstream as module
    with progress_lines() as progress:
        result = module.build_bitstream(
            geometry, output, clock_mhz=clock_mhz, memory_bytes=memory_kib << 10, baud=baud, seed=seed,
            left_out=leave_out, place=place, progress=progress)
    as_json.write(result)
    if not as_json.instead:
        from caesura.sim.report.board import print_board

        print_board(result, parts)
    sys.exit(0 if result["met"] or not place and not result["lacking"] else EXIT_WRONG)


@board_group.command("identify", epilog=examples("caesura board identify /dev/ttyUSB0"))
@click.argument("port")
@baud_option
@json_option
def board_identify(port: str, baud: int, as_json: JsonTarget):
    """Say what board is on a serial port, and what SM is on it; nothing on it is changed."""
    board = boards.open_board(port, baud=baud, reset=False)
    found = board.identity
    board.close()
    as_json.write({"port": port, "board": found.board, "memory_bytes": found.memory_bytes, "clock_hz": found.clock_hz,
                   "geometry": dataclasses.asdict(found.geometry)})
    if not as_json.instead:
        click.echo(f"{port}: {found.board}, {found.geometry.name}, {found.clock_hz / 1e6:g} MHz, "
                   f"{found.memory_bytes:,} bytes of memory")
        for field, value in dataclasses.asdict(found.geometry).items():
            click.echo(f"  {field} = {value}")
