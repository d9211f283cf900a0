"""The system: files, locks, processes and the machine.

Atomic writes, checksums, leftovers of killed processes, pipes, locks, worker
processes, remote addresses, cores and memory.
"""
