"""The runner, what it keeps, and the pages and pictures made of it."""
