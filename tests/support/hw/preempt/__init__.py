"""The preemption engine: an SM and a memory around it, the images that it leaves, benches of its save and restore."""
