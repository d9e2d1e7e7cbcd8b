"""Two parties: a curator who holds the rows and shows a transformed table, a modeler who optimises over it.

Neither side imports the other. What both may know is in ``terms``. This module imports nothing, so it costs nothing.
"""
