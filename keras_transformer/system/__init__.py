"""The system: files, locks, processes and the machine.

Whole files or none, checksums, leftovers of killed processes, pipes, locks,
worker processes, remote addresses, cores and memory.
"""
