"""What the golden model's SM holds: warps, thread blocks, kernels, memory; nothing here executes."""
