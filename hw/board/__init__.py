"""A board: the SM, or several, with a host on a serial line and a memory of its own.

Everything here is elaborated without amaranth-boards, but for `ulx3s`, which is of one board.
"""
