"""Bounds of accesses to global memory: each is checked against the array that its address comes from.

1. A *tag* names the array whose address a word is, by the array's number. 0 stands for a number, or for a word not
   known to be an address. -1 (`MIXED`) stands for a word made of addresses of several arrays, or of one address by
   operations other than moves and sums.
2. Every lane of a register has a tag, every uniform register, and every word of global, local and shared memory
   (`state.tags`). They start at parameters (`checker.BoundsChecker.launch`) and go with the values as `rules` says;
   contexts keep them (`BoundsChecker.saved`).
3. An access whose address has a number must lie in that array; any other in some array that exists. The driver leaves
   gaps between arrays, so that one that leaves its array by little lies in none.

Machines without a checker have none of it: a checker wraps the operations of a kernel when they are decoded
(`instrument`).
"""
