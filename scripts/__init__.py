"""Set-up, measuring and maintenance of a checkout; not part of the package."""
