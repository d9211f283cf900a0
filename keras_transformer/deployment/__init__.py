"""Deployment: the files that Docker, Kubernetes and Slurm run the package by.

Servers of exported models, trainings and bulk translations.
"""
