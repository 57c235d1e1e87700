"""The state of the golden model's SM: warps, thread blocks, kernels, memory. Nothing here executes."""
