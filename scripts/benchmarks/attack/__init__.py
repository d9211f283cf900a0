"""Attacks on servers, files and commands, at any size, with figures."""
