"""Private trainers, ``tacit.train`` and ``tacit.select``. ``registry.py`` lists every trainer."""
