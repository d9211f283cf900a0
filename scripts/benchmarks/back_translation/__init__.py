"""Back-translations and their worth."""
